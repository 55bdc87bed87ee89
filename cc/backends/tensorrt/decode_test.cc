// The whole decode loop over the doubles: every call in its order, every shape, every address, and
// the same answers as the table model gives by itself.
#include <gtest/gtest.h>

#include <numeric>

#include "cc/backends/tensorrt/testing/rig.h"
#include "cc/decoder/causal_pipeline.h"
#include "cc/decoder/decoder.h"
#include "cc/sampling/sampler.h"
#include "cc/testing/memory_bundle.h"

namespace trtmc::tensorrt {
namespace {

using testing::Rig;
using trtmc::testing::MemoryBundle;
using trtmc::testing::RunLog;
using trtmc::testing::TableBackend;
using trtmc::testing::TableLimits;
using trtmc::testing::TableModel;

constexpr std::int64_t kVocab = 31;
// A float32 row of logits, and five small inputs, each in a place of 256 bytes.
constexpr const char* kInputs = "copy_to_device 1280";
constexpr const char* kOutputs = "copy_to_host 256";

std::vector<std::int32_t> greedy(Decoder& decoder, std::vector<std::int32_t> next, int n,
                                 std::int64_t chunk = 0) {
  std::vector<std::int32_t> ids;
  for (int i = 0; i < n; ++i) {
    const auto logits = decoder.append(next, {.chunk = chunk});
    if (!logits.is_ok()) {
      ADD_FAILURE() << logits.status().message();
      return ids;
    }
    next.clear();
    for (std::int64_t b = 0; b < logits->rows; ++b) {
      next.push_back(argmax({logits->data + b * kVocab, static_cast<std::size_t>(kVocab)}));
    }
    ids.insert(ids.end(), next.begin(), next.end());
  }
  return ids;
}

std::vector<std::int32_t> by_the_table(const TableLimits& limits, std::int64_t batch,
                                       const std::vector<std::int32_t>& prompt, int n) {
  TableBackend backend(std::make_shared<RunLog>());
  const Contract contract = trtmc::testing::table_contract(kVocab, limits);
  const auto engine = backend.make_engine(TableModel::hashing(kVocab), contract);
  auto decoder = Decoder::create(backend.allocator(), *engine, {batch, 0});
  return greedy(*decoder, prompt, n);
}

struct Loop {
  explicit Loop(Rig& of, std::int64_t batch = 1) : rig(of) {
    auto loaded = rig.load();
    EXPECT_TRUE(loaded.is_ok()) << loaded.status().message();
    engine = std::move(loaded).value();
    auto made = Decoder::create(rig.backend().allocator(), *engine, {batch, 0});
    EXPECT_TRUE(made.is_ok()) << made.status().message();
    decoder = std::make_unique<Decoder>(std::move(made).value());
  }
  ~Loop() { EXPECT_EQ(rig.device_log->violations, 0); }

  Rig& rig;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Decoder> decoder;
};

std::string calls(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

TEST(DecodeTest, EveryCallInItsOrder) {
  Rig rig(TableModel::hashing(kVocab), {1, 64, 32});
  Loop loop(rig);
  // Load: nothing to upload. The session's scratch is that of the larger profile. Two caches, each
  // cleared before anyone sees it.
  EXPECT_EQ(rig.device_log->take(),
            calls({"synchronize", "fill_zero 256", "synchronize", "fill_zero 256", "synchronize"}));
  EXPECT_EQ(rig.library->take(), "deserialize jit 0");

  // The prompt: a context for the profile, all shapes and addresses, one run.
  ASSERT_EQ(greedy(*loop.decoder, {1, 2, 3}, 1).size(), 1u);
  EXPECT_EQ(rig.library->take(), calls({"context",
                                        "profile context",
                                        "scratch 8192",
                                        "shape input_ids [1, 3]",
                                        "address input_ids",
                                        "shape position_ids [1, 3]",
                                        "address position_ids",
                                        "shape write_indices [1]",
                                        "address write_indices",
                                        "shape kv_lengths [1]",
                                        "address kv_lengths",
                                        "shape logit_rows [1]",
                                        "address logit_rows",
                                        "shape k_cache_0 [1, 1, 64, 1]",
                                        "address k_cache_0",
                                        "shape v_cache_0 [1, 1, 64, 1]",
                                        "address v_cache_0",
                                        "address logits",
                                        "address k_out_0",
                                        "address v_out_0"}));
  EXPECT_EQ(rig.device_log->take(), calls({"fill_zero 1280", "fill_zero 256", kInputs,
                                           "enqueue context", kOutputs, "synchronize"}));

  // The first step: the other context. The second: its shapes repeat, so it is recorded and
  // launched. From then on there is one launch a step, and the library is told nothing.
  ASSERT_EQ(greedy(*loop.decoder, {4}, 1).size(), 1u);
  EXPECT_EQ(rig.library->take().substr(0, 46), "context eager; profile generation; scratch 819");
  EXPECT_EQ(rig.device_log->take(),
            calls({kInputs, "enqueue generation", kOutputs, "synchronize"}));
  ASSERT_EQ(greedy(*loop.decoder, {5}, 1).size(), 1u);
  EXPECT_EQ(rig.device_log->take(), calls({"begin_capture", kInputs, "enqueue generation", kOutputs,
                                           "end_capture", "launch", "synchronize"}));
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(greedy(*loop.decoder, {i % 7}, 1).size(), 1u);
    ASSERT_EQ(rig.device_log->take(), "launch; synchronize");
  }
  EXPECT_EQ(rig.library->take(), "");
  EXPECT_EQ(rig.device->graphs(), 1u);
}

TEST(DecodeTest, StateIsTheCacheItselfAndInPlace) {
  Rig rig(TableModel::hashing(kVocab), {1, 64, 32});
  Loop loop(rig);
  greedy(*loop.decoder, {1, 2, 3}, 4);
  const auto& at = rig.library->addresses;
  EXPECT_EQ(at.at("k_cache_0"), loop.decoder->cache().tensor(0).data);
  EXPECT_EQ(at.at("k_out_0"), at.at("k_cache_0"));
  EXPECT_EQ(at.at("v_cache_0"), loop.decoder->cache().tensor(1).data);
  EXPECT_EQ(at.at("v_out_0"), at.at("v_cache_0"));
  EXPECT_EQ(loop.decoder->cache().tensor(0).memory, MemoryKind::kDevice);
  for (const auto& run : rig.library->runs->runs) EXPECT_EQ(run.k_cache, at.at("k_cache_0"));
}

TEST(DecodeTest, SameAnswersAsTheModelItself) {
  for (const std::int64_t batch : {1, 3}) {
    const TableLimits limits{3, 256, 16};
    Rig rig(TableModel::hashing(kVocab), limits);
    Loop loop(rig, batch);
    std::vector<std::int32_t> prompt(static_cast<std::size_t>(40 * batch));
    for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int>(i * i % 29);
    const auto want = by_the_table(limits, batch, prompt, 150);
    EXPECT_EQ(greedy(*loop.decoder, prompt, 150), want) << "batch " << batch;
    loop.decoder->reset();
    EXPECT_EQ(greedy(*loop.decoder, prompt, 150, 7), want) << "in chunks, batch " << batch;
  }
}

TEST(DecodeTest, TheWholePipeline) {
  const TableLimits limits{1, 64, 32};
  Rig rig(TableModel::path(26, {0, 5, 9, 2, 7, 11, 4, 3, 8}), limits);
  rig.facts.contract = rig.contract = trtmc::testing::table_contract(26, limits);
  auto bundle = MemoryBundle::of(rig.model, limits, "toy_decoder");
  bundle->edit().targets = {testing::kSm89};
  bundle->edit().components[0].engines[0].target = testing::kSm89.name;
  PipelineInputs inputs;
  inputs.bundle = bundle;
  inputs.target = testing::kSm89;
  inputs.backend = std::shared_ptr<Backend>(&rig.backend(), [](Backend*) {});
  auto engine = load_component(inputs, "llm");
  ASSERT_TRUE(engine.is_ok()) << engine.status().message();

  struct State final : InferenceState {
    State(std::unique_ptr<Engine> engine, Decoder decoder)
        : engine_(std::move(engine)), decoder_(std::move(decoder)) {}
    Decoder& decoder() override { return decoder_; }
    MemoryReport memory() const override { return engine_->memory(); }
    std::unique_ptr<Engine> engine_;
    Decoder decoder_;
  };
  auto decoder = Decoder::create(inputs.backend->allocator(), **engine, {});
  auto pipeline = CausalPipeline::create(
      inputs, std::make_unique<State>(std::move(*engine), std::move(*decoder)));
  ASSERT_TRUE(pipeline.is_ok()) << pipeline.status().message();
  const std::vector<std::int32_t> prompt = {0, 5};
  for (int again = 0; again < 2; ++again) {
    const auto result = (*pipeline)->text_generation()->generate(prompt, {.max_new_tokens = 6}, {});
    ASSERT_TRUE(result.is_ok()) << result.status().message();
    EXPECT_EQ(result->ids, (std::vector<std::int32_t>{9, 2, 7, 11, 4, 3}));
  }
  EXPECT_GT((*pipeline)->memory().available, 0u);
  EXPECT_EQ(rig.device_log->violations, 0);
}

TEST(DecodeTest, ManyStepsTakeNoMoreMemory) {
  Rig rig(TableModel::hashing(kVocab), {1, 64, 32});
  Loop loop(rig);
  greedy(*loop.decoder, {1, 2, 3}, 4);
  const auto used = rig.device->used();
  const auto allocations = rig.device->allocations();
  for (int i = 0; i < 50; ++i) {
    loop.decoder->reset();
    greedy(*loop.decoder, {1, 2, 3}, 10);
  }
  EXPECT_EQ(rig.device->used(), used);
  EXPECT_EQ(rig.device->allocations(), allocations);
  EXPECT_LE(rig.device->graphs(), 1u);
}

TEST(DecodeTest, EverythingIsGivenBack) {
  Rig rig(TableModel::hashing(kVocab), {1, 64, 32});
  {
    Loop loop(rig);
    greedy(*loop.decoder, {1, 2, 3}, 5);
    EXPECT_EQ(rig.library->contexts, 2);
  }
  EXPECT_EQ(rig.library->contexts, 0);
  EXPECT_EQ(rig.device->allocations(), 0u);
  EXPECT_EQ(rig.device->graphs(), 0u);
  EXPECT_EQ(rig.device->streams(), 1u) << "the allocator's";
  EXPECT_EQ(rig.device_log->violations, 0);
}

TEST(DecodeTest, WithoutGraphsTheAnswersAreTheSame) {
  Rig rig(TableModel::hashing(kVocab), {1, 256, 32});
  Loop loop(rig);
  rig.device->refuse_capture = true;
  const std::vector<std::int32_t> prompt = {3, 1, 4, 1, 5};
  EXPECT_EQ(greedy(*loop.decoder, prompt, 30), by_the_table({1, 256, 32}, 1, prompt, 30));
  const std::string log = rig.device_log->take();
  EXPECT_EQ(log.find("launch"), std::string::npos);
  EXPECT_EQ(log.find("begin_capture"), log.rfind("begin_capture")) << "tried once";
}

TEST(DecodeTest, AFailedRunLeavesTheSessionUsable) {
  for (const int failing : {0, 1, 2, 3}) {
    Rig rig(TableModel::hashing(kVocab), {1, 256, 32});
    Loop loop(rig);
    rig.library->runs->fail_at_run = failing;
    std::vector<std::int32_t> prompt = {3, 1, 4};
    std::vector<std::int32_t> ids, next = prompt;
    bool failed = false;
    while (ids.size() < 12) {
      const auto logits = loop.decoder->append(next, {});
      if (!logits.is_ok()) {
        EXPECT_EQ(logits.status().code(), "table.injected");
        EXPECT_FALSE(failed);
        failed = true;
        continue;
      }
      next = {argmax({logits->data, static_cast<std::size_t>(kVocab)})};
      ids.push_back(next[0]);
    }
    EXPECT_TRUE(failed);
    EXPECT_EQ(ids, by_the_table({1, 256, 32}, 1, prompt, 12)) << "run " << failing;
  }
}

TEST(DecodeTest, WithoutPinnedMemoryARunFailsAndLaterOnesDoNot) {
  Rig rig(TableModel::hashing(kVocab), {1, 256, 128});
  Loop loop(rig);
  const std::vector<std::int32_t> prompt = {3, 1, 4};
  greedy(*loop.decoder, prompt, 4);
  loop.decoder->reset();
  std::vector<std::int32_t> longer(100, 7);
  rig.device->refuse_pinned = true;
  for (int i = 0; i < 2; ++i) {
    const Status status = loop.decoder->append(longer, {}).status();
    EXPECT_EQ(status.code(), "backend.out_of_memory");
    EXPECT_NE(status.message().find("staging the tensors of a run needs"), std::string_view::npos);
  }
  rig.device->refuse_pinned = false;
  EXPECT_EQ(greedy(*loop.decoder, longer, 20), by_the_table({1, 256, 128}, 1, longer, 20));
}

}  // namespace
}  // namespace trtmc::tensorrt
