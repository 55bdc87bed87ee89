#include "cc/decoder/decoder.h"

#include <gtest/gtest.h>

#include <numeric>

#include "cc/sampling/sampler.h"
#include "cc/testing/table_backend.h"

namespace trtmc {
namespace {

using testing::RunLog;
using testing::TableBackend;
using testing::TableLimits;
using testing::TableModel;

constexpr std::int64_t kVocab = 31;

struct Rig {
  explicit Rig(TableLimits limits = {}, std::int64_t batch = 1, std::int64_t rows = 0)
      : contract(testing::table_contract(kVocab, limits)),
        engine(backend.make_engine(TableModel::hashing(kVocab), contract)),
        decoder(Decoder::create(backend.allocator(), *engine, {batch, rows}).value()) {}

  // Ids that greedy decoding gives after `prompt`.
  std::vector<std::int32_t> greedy(std::vector<std::int32_t> prompt, int n, std::int64_t chunk = 0) {
    const std::int64_t kept = decoder.reuse_prefix(0, prompt);
    std::vector<std::int32_t> ids, next(prompt.begin() + kept, prompt.end());
    for (int i = 0; i < n; ++i) {
      const auto logits = decoder.append(next, {.chunk = chunk}).value();
      next = {argmax({logits.data, static_cast<std::size_t>(logits.vocab)})};
      ids.push_back(next[0]);
    }
    return ids;
  }

  std::shared_ptr<RunLog> log = std::make_shared<RunLog>();
  TableBackend backend{log};
  Contract contract;
  std::unique_ptr<Engine> engine;
  Decoder decoder;
};

std::vector<std::int32_t> prompt_of(int n, int seed = 0) {
  std::vector<std::int32_t> ids;
  for (int i = 0; i < n; ++i) ids.push_back((i * 17 + seed * 5 + i * i) % kVocab);
  return ids;
}

TEST(Decoder, OneRunPerPromptAndPerStepInPlace) {
  Rig rig;
  rig.greedy(prompt_of(5), 3);
  ASSERT_EQ(rig.log->runs.size(), 3u);
  const auto& prefill = rig.log->runs[0];
  EXPECT_EQ(prefill.profile, "context");
  EXPECT_EQ(prefill.ids_shape, (Shape{1, 5}));
  EXPECT_EQ(prefill.position_ids, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(prefill.write_indices, std::vector<std::int32_t>{0});
  EXPECT_EQ(prefill.kv_lengths, std::vector<std::int32_t>{5});
  EXPECT_EQ(prefill.logit_rows, std::vector<std::int64_t>{4});
  const auto& step = rig.log->runs[2];
  EXPECT_EQ(step.profile, "generation");
  EXPECT_EQ(step.position_ids, std::vector<std::int64_t>{6});
  EXPECT_EQ(step.write_indices, std::vector<std::int32_t>{6});
  EXPECT_EQ(step.kv_lengths, std::vector<std::int32_t>{7});
  EXPECT_EQ(step.logit_rows, std::vector<std::int64_t>{0});
  for (const auto& run : rig.log->runs) EXPECT_EQ(run.k_cache, rig.decoder.cache().tensor(0).data);
}

TEST(Decoder, StepsBindNothingAgain) {
  Rig rig;
  rig.greedy(prompt_of(5), 2);  // prompt, then the first step with its new shapes
  const int before = rig.log->binds;
  rig.greedy(prompt_of(5), 1);
  std::vector<std::int32_t> one = {3};
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(rig.decoder.append(one, {}).is_ok());
  EXPECT_EQ(rig.log->binds, before);
}

TEST(Decoder, ChunksOfAnySizeGiveTheSameIds) {
  const auto prompt = prompt_of(23);
  const auto want = Rig().greedy(prompt, 8);
  for (std::int64_t chunk : {1, 2, 7, 22, 23, 64}) {
    EXPECT_EQ(Rig().greedy(prompt, 8, chunk), want) << chunk;
  }
  Rig small({.max_chunk = 4});
  EXPECT_EQ(small.greedy(prompt, 8), want);
  EXPECT_EQ(small.log->runs.size(), 6u + 7u);
}

TEST(Decoder, AllRowsEqualStepByStepInOneRunAndInChunks) {
  const auto prompt = prompt_of(11);
  Rig steps;
  std::vector<float> want;
  for (std::int32_t id : prompt) {
    const auto view = steps.decoder.append(std::array{id}, {}).value();
    want.insert(want.end(), view.data, view.data + view.vocab);
  }
  for (std::int64_t chunk : {0, 1, 3, 11}) {
    Rig rig;
    const auto view =
        rig.decoder.append(prompt, {.rows = LogitRows::kAll, .chunk = chunk}).value();
    ASSERT_EQ(view.rows, 11);
    EXPECT_EQ(std::vector<float>(view.data, view.data + view.rows * view.vocab), want) << chunk;
  }
}

TEST(Decoder, SecondTurnSamePromptTwiceAndOneIdPrompt) {
  // A prompt of one id, and a cached prefix that leaves one id, are the ordinary path.
  for (int n : {1, 2, 20}) {
    const auto prompt = prompt_of(n);
    const auto want = Rig().greedy(prompt, 6);
    Rig rig;
    EXPECT_EQ(rig.greedy(prompt, 6), want);
    EXPECT_EQ(rig.greedy(prompt, 6), want);
    EXPECT_EQ(rig.log->runs[6].ids_shape, (Shape{1, 1}));
  }
  Rig rig;
  auto prompt = prompt_of(20);
  rig.greedy(prompt, 1);
  prompt.push_back(9);
  EXPECT_EQ(rig.greedy(prompt, 6), Rig().greedy(prompt, 6));
  EXPECT_EQ(rig.log->runs[1].write_indices, std::vector<std::int32_t>{20});
}

TEST(Decoder, OtherPromptKeepsTheCommonBeginningOnly) {
  Rig rig;
  auto a = prompt_of(12), b = prompt_of(12);
  b[7] = (b[7] + 1) % kVocab;
  rig.greedy(a, 4);
  EXPECT_EQ(rig.decoder.reuse_prefix(0, b), 7);
  EXPECT_EQ(rig.greedy(b, 4), Rig().greedy(b, 4));
  EXPECT_EQ(rig.greedy(a, 4), Rig().greedy(a, 4));
}

TEST(Decoder, ResetAndRollback) {
  Rig rig;
  const auto prompt = prompt_of(9);
  const auto want = Rig().greedy(prompt, 5);
  rig.greedy(prompt_of(14, 3), 5);
  rig.decoder.reset();
  EXPECT_EQ(rig.decoder.ledger().length(0), 0);
  EXPECT_EQ(rig.greedy(prompt, 5), want);
  ASSERT_TRUE(rig.decoder.rollback(0, 8).is_ok());
  EXPECT_EQ(rig.decoder.ledger().length(0), 8);
  const auto logits = rig.decoder.append(std::array{prompt[8]}, {}).value();
  EXPECT_EQ(argmax({logits.data, kVocab}), want[0]);
  EXPECT_EQ(rig.decoder.rollback(0, 10).code(), "decoder.bad_rollback");
  EXPECT_EQ(rig.decoder.rollback(0, -1).code(), "decoder.bad_rollback");
  EXPECT_EQ(rig.decoder.rollback(1, 0).code(), "decoder.bad_rollback");
}

TEST(Decoder, CapacityIsUsedToTheLastRowAndNoFurther) {
  Rig rig({.max_sequence = 8, .max_chunk = 8});
  ASSERT_TRUE(rig.decoder.append(prompt_of(7), {}).is_ok());
  ASSERT_TRUE(rig.decoder.append(std::array{1}, {}).is_ok());
  const Status full = rig.decoder.append(std::array{1}, {}).status();
  EXPECT_EQ(full.code(), "decoder.full");
  EXPECT_EQ(full.exit_code(), 7);
  EXPECT_EQ(rig.decoder.ledger().length(0), 8);
  ASSERT_TRUE(rig.decoder.rollback(0, 7).is_ok());
  EXPECT_TRUE(rig.decoder.append(std::array{1}, {}).is_ok());
}

TEST(Decoder, SmallerCapacityThanTheContract) {
  Rig rig({}, 1, 10);
  EXPECT_EQ(rig.decoder.ledger().capacity(), 10);
  EXPECT_EQ(rig.decoder.append(prompt_of(11), {}).status().code(), "decoder.full");
}

TEST(Decoder, BadIdsAreNamedBeforeAnythingRuns) {
  Rig rig;
  for (std::int32_t id : {-1, 31, 2147483647}) {
    const Status status = rig.decoder.append(std::array{0, id}, {}).status();
    EXPECT_EQ(status.code(), "generate.bad_token_id");
    EXPECT_NE(status.message().find(std::to_string(id)), std::string_view::npos);
  }
  EXPECT_EQ(rig.decoder.append({}, {}).status().code(), "decoder.bad_ids");
  EXPECT_TRUE(rig.log->runs.empty());
}

TEST(Decoder, FailedRunLeavesItUsable) {
  Rig rig;
  const auto prompt = prompt_of(12);
  rig.log->fail_at_run = 1;
  EXPECT_EQ(rig.decoder.append(prompt, {.chunk = 4}).status().code(), "table.injected");
  EXPECT_EQ(rig.decoder.ledger().length(0), 4);
  EXPECT_EQ(rig.greedy(prompt, 5), Rig().greedy(prompt, 5));
}

TEST(Decoder, CancelStopsBetweenChunks) {
  Rig rig;
  const std::atomic<bool> cancel{true};
  const Status status = rig.decoder.append(prompt_of(12), {.cancel = &cancel}).status();
  EXPECT_EQ(status.code(), "decoder.cancelled");
  EXPECT_EQ(status.exit_code(), 130);
  EXPECT_TRUE(rig.log->runs.empty());
  EXPECT_EQ(rig.greedy(prompt_of(12), 3), Rig().greedy(prompt_of(12), 3));
}

}  // namespace
}  // namespace trtmc
