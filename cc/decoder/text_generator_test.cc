#include "cc/decoder/text_generator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cc/testing/piece_codec.h"
#include "cc/testing/table_backend.h"

namespace trtmc {
namespace {

using testing::PieceCodec;
using testing::TableModel;
using Ids = std::vector<std::int32_t>;

struct Rig {
  explicit Rig(TableModel model, std::shared_ptr<TextCodec> text = PieceCodec::letters(),
               testing::TableLimits limits = {})
      : codec(std::move(text)),
        engine(backend.make_engine(model, testing::table_contract(model.vocab, limits))),
        decoder(Decoder::create(backend.allocator(), *engine, {}).value()) {
    info.vocab_size = model.vocab;
  }

  Result<GenerationResult> generate(Ids prompt, const GenerationOptions& options,
                                    GenerationHooks hooks = {}) {
    if (!hooks.on_token) {
      hooks.on_token = [this](const TokenEvent& e) {
        events.push_back(std::string(e.text));
        return true;
      };
    }
    return generate_text(decoder, codec.get(), info, prompt, options, hooks);
  }

  std::shared_ptr<testing::RunLog> log = std::make_shared<testing::RunLog>();
  testing::TableBackend backend{log};
  std::shared_ptr<TextCodec> codec;
  std::unique_ptr<Engine> engine;
  Decoder decoder;
  TextGenerationInfo info;
  std::vector<std::string> events;
};

Ids range(std::int32_t from, std::int32_t to) {
  Ids ids;
  for (std::int32_t i = from; i <= to; ++i) ids.push_back(i);
  return ids;
}

TableModel alphabet() { return TableModel::path(26, range(0, 25)); }

TEST(EndTokens, AnyOfSeveralStopsAndOthersDoNot) {
  Rig rig(TableModel::path(16, range(2, 15)));
  rig.info.eos_token_ids = {9, 7};
  const auto result = rig.generate({2}, {}).value();
  EXPECT_EQ(result.ids, range(3, 7));
  EXPECT_EQ(result.reason, FinishReason::kStop);
  EXPECT_EQ(result.text, "DEFG");  // H, the end token, is no text
  rig.info.eos_token_ids = {5};
  EXPECT_EQ(rig.generate({2}, {}).value().ids, range(3, 5));
}

TEST(EndTokens, IgnoredOnRequest) {
  Rig rig(TableModel::path(16, range(2, 15)));
  rig.info.eos_token_ids = {5};
  const auto result = rig.generate({2}, {.max_new_tokens = 6, .ignore_eos = true}).value();
  EXPECT_EQ(result.ids, range(3, 8));
  EXPECT_EQ(result.reason, FinishReason::kLength);
}

TEST(StopText, OverSevenTokensNothingIsStreamed) {
  Rig rig(alphabet());
  const auto result = rig.generate({2}, {.stop = {"DEFGHIJ"}}).value();
  EXPECT_EQ(result.text, "");
  EXPECT_EQ(result.reason, FinishReason::kStop);
  EXPECT_EQ(result.stop_text, "DEFGHIJ");
  EXPECT_EQ(result.ids.size(), 7u);
  for (const std::string& e : rig.events) EXPECT_EQ(e, "");
}

TEST(StopText, EventsJoinToTheText) {
  Rig rig(alphabet());
  const auto result = rig.generate({0}, {.max_new_tokens = 9, .stop = {"JKL", "FX"}}).value();
  std::string joined;
  for (const std::string& e : rig.events) joined += e;
  EXPECT_EQ(result.text, "BCDEFGHIJ");  // the held J comes at the end
  EXPECT_EQ(joined, result.text);
  EXPECT_EQ(rig.events.size(), 10u);  // nine ids and the rest
}

TEST(StopText, NeedsATokenizer) {
  Rig rig(alphabet(), nullptr);
  EXPECT_EQ(rig.generate({0}, {.stop = {"B"}}).status().code(), "generate.no_tokenizer");
  EXPECT_EQ(rig.generate({0}, {.max_new_tokens = 2}).value().ids, range(1, 2));
}

TEST(SplitCharacters, PiecesAreWholeCharacters) {
  // The chain needs a row per position, so every byte value may occur once only.
  Ids path = {1};
  for (char c : std::string("hi\xF0\x9F\x98\x80\xC3\xA9\xED\x95\x9C")) {
    path.push_back(static_cast<unsigned char>(c));
  }
  Rig rig(TableModel::path(256, path), PieceCodec::bytes());
  const auto n = static_cast<std::int64_t>(path.size()) - 1;
  const auto result = rig.generate({1}, {.max_new_tokens = n}).value();
  const std::vector<std::string> events = {
      "h", "i", "", "", "", "\xF0\x9F\x98\x80", "", "\xC3\xA9", "", "", "\xED\x95\x9C"};
  EXPECT_EQ(rig.events, events);
  EXPECT_EQ(result.text.find("\xEF\xBF\xBD"), std::string::npos);
}

TEST(SplitCharacters, AnUnfinishedOneAtTheEndIsShown) {
  Rig rig(TableModel::path(256, {'a', 0xF0, 0x9F}), PieceCodec::bytes());
  const auto result = rig.generate({'a'}, {.max_new_tokens = 2}).value();
  EXPECT_EQ(result.text, "\xEF\xBF\xBD");
}

TEST(Temperature, ZeroIsTheArgmaxWalk) {
  for (double t : {0.0, 1e-6, 1e-30}) {
    Rig rig(alphabet());
    const SamplingOptions sampling{.temperature = t, .top_p = .9, .min_p = .1, .seed = 1};
    EXPECT_EQ(rig.generate({0}, {.sampling = sampling, .max_new_tokens = 20}).value().ids,
              range(1, 20));
  }
}

TEST(Options, WrongOnesAreNamedAndRunNothing) {
  Rig rig(alphabet());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [options, code, word] :
       {std::tuple<GenerationOptions, std::string, std::string>{
            {.sampling = {.temperature = -1}}, "sampling.bad_option", "temperature"},
        {{.sampling = {.temperature = nan}}, "sampling.bad_option", "temperature"},
        {{.max_new_tokens = 0}, "generate.bad_option", "max_new_tokens"},
        {{.logprobs = -1}, "generate.bad_option", "logprobs"},
        {{.stop = {""}}, "generate.bad_stop", "stop"}}) {
    const Status status = rig.generate({0}, options).status();
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.exit_code(), 2);
    EXPECT_NE(status.message().find(word), std::string_view::npos) << status.message();
  }
  EXPECT_TRUE(rig.log->runs.empty());
}

TEST(Prompt, EmptyTooLongAndStrangeIds) {
  Rig rig(alphabet(), PieceCodec::letters(), {.max_sequence = 8});
  EXPECT_EQ(rig.generate({}, {}).status().code(), "generate.empty_prompt");
  const Status status = rig.generate(range(0, 8), {}).status();
  EXPECT_EQ(status.code(), "generate.prompt_too_long");
  EXPECT_EQ(status.exit_code(), 3);
  EXPECT_NE(status.message().find("9 tokens"), std::string_view::npos);
  EXPECT_NE(status.message().find("holds 8"), std::string_view::npos);
  EXPECT_EQ(rig.generate({26}, {}).status().code(), "generate.bad_token_id");
  EXPECT_EQ(rig.generate({0}, {.max_new_tokens = 1}).value().ids, Ids{1});
}

TEST(Capacity, EndsWithReasonAndUsesEveryRow) {
  Rig rig(alphabet(), PieceCodec::letters(), {.max_sequence = 8});
  const auto result = rig.generate({0, 1, 2}, {}).value();
  EXPECT_EQ(result.reason, FinishReason::kCapacity);
  EXPECT_EQ(result.ids, range(3, 8));  // rows 0 to 7 are used; the last id needs none
  const auto full = rig.generate(range(0, 7), {}).value();
  EXPECT_EQ(full.ids, Ids{8});
  EXPECT_EQ(full.reason, FinishReason::kCapacity);
}

TEST(Cache, SecondTurnReusesAndGivesTheSame) {
  const TableModel model = TableModel::hashing(31);
  const auto fresh = [&](const Ids& prompt) {
    Rig rig(model, nullptr);
    return rig.generate(prompt, {.max_new_tokens = 8}).value().ids;
  };
  Rig rig(model, nullptr);
  Ids turn = {5, 6, 7, 8};
  const auto first = rig.generate(turn, {.max_new_tokens = 8}).value();
  EXPECT_EQ(first.reused_tokens, 0);
  turn.insert(turn.end(), first.ids.begin(), first.ids.end());
  turn.push_back(3);
  const auto second = rig.generate(turn, {.max_new_tokens = 8}).value();
  EXPECT_EQ(second.reused_tokens, 11);  // all but the last id of the answer, which was never fed
  EXPECT_EQ(second.ids, fresh(turn));
  rig.decoder.reset();
  EXPECT_EQ(rig.generate(turn, {.max_new_tokens = 8}).value().ids, second.ids);
}

TEST(Cancel, ByCallbackByFlagAndBeforeTheFirst) {
  Rig rig(alphabet());
  GenerationHooks hooks;
  int calls = 0;
  hooks.on_token = [&](const TokenEvent&) { return ++calls < 3; };
  auto result = rig.generate({0}, {}, hooks).value();
  EXPECT_EQ(result.reason, FinishReason::kCancelled);
  EXPECT_EQ(result.ids, range(1, 3));

  std::atomic<bool> cancel{false};
  hooks.cancel = &cancel;
  hooks.on_token = [&](const TokenEvent& e) {
    cancel = e.id == 2;
    return true;
  };
  result = rig.generate({0}, {}, hooks).value();
  EXPECT_EQ(result.reason, FinishReason::kCancelled);
  EXPECT_EQ(result.ids, range(1, 2));
  result = rig.generate({0, 1}, {}, hooks).value();
  EXPECT_EQ(result.reason, FinishReason::kCancelled);
  EXPECT_TRUE(result.ids.empty());
  cancel = false;
  EXPECT_EQ(rig.generate({0}, {.max_new_tokens = 4}).value().ids, range(1, 4));
}

TEST(Logprobs, AnyNumberOfThem) {
  Rig rig(TableModel::path(16, range(0, 15)));
  for (const auto& [asked, given] : {std::pair<std::int64_t, std::size_t>{0, 0}, {1, 1}, {16, 16},
                                     {17, 16}, {1000000, 16}}) {
    std::size_t seen = 99;
    GenerationHooks hooks;
    hooks.on_token = [&](const TokenEvent& e) {
      seen = e.logprobs->top.size();
      return true;
    };
    const auto r = rig.generate({0}, {.max_new_tokens = 2, .logprobs = asked}, hooks).value();
    ASSERT_EQ(r.logprobs.size(), 2u);
    EXPECT_EQ(r.logprobs[0].top.size(), given);
    EXPECT_EQ(seen, given);
    EXPECT_NEAR(r.logprobs[0].chosen.logprob, 10 - std::log(std::exp(10.0) + 15), 1e-5);
  }
}

TEST(Failure, OfARunIsReportedAndLeavesItUsable) {
  Rig rig(alphabet());
  rig.log->fail_at_run = 3;
  EXPECT_EQ(rig.generate({0}, {}).status().code(), "table.injected");
  EXPECT_EQ(rig.generate({0}, {.max_new_tokens = 5}).value().ids, range(1, 5));
}

TEST(Defaults, GreedyUnlessTheCheckpointSamples) {
  EXPECT_EQ(sampling_from({}).temperature, 0);
  EXPECT_EQ(sampling_from({.temperature = .7, .repetition_penalty = 1.1}).temperature, 0);
  EXPECT_EQ(sampling_from({.repetition_penalty = 1.1}).repetition_penalty, 1.1);
  const SamplingOptions bare = sampling_from({.do_sample = true});
  EXPECT_EQ(bare.temperature, 1);
  EXPECT_EQ(bare.top_k, 50);
  EXPECT_EQ(bare.top_p, 1);
  const SamplingOptions full =
      sampling_from({.do_sample = true, .temperature = .6, .top_k = 20, .top_p = .95, .min_p = .1});
  EXPECT_EQ(full.top_k, 20);
  EXPECT_EQ(full.min_p, .1);
}

}  // namespace
}  // namespace trtmc
