// Batches: sequences of different lengths side by side give what each gives alone.
#include <gtest/gtest.h>

#include "cc/decoder/decoder.h"
#include "cc/sampling/sampler.h"
#include "cc/testing/table_backend.h"

namespace trtmc {
namespace {

using testing::RunLog;
using testing::TableBackend;
using testing::TableModel;

constexpr std::int64_t kVocab = 31;
using Ids = std::vector<std::int32_t>;

std::vector<Ids> greedy(const std::vector<Ids>& prompts, int n, std::int64_t chunk) {
  auto log = std::make_shared<RunLog>();
  TableBackend backend(log);
  const auto batch = static_cast<std::int64_t>(prompts.size());
  const Contract contract = testing::table_contract(kVocab, {.max_batch = 4});
  auto engine = backend.make_engine(TableModel::hashing(kVocab), contract);
  Decoder decoder = Decoder::create(backend.allocator(), *engine, {batch, 0}).value();

  std::size_t longest = 0;
  for (const Ids& p : prompts) longest = std::max(longest, p.size());
  Ids grid;
  std::vector<std::int64_t> valid;
  for (const Ids& p : prompts) {
    grid.insert(grid.end(), p.begin(), p.end());
    grid.insert(grid.end(), longest - p.size(), 0);
    valid.push_back(static_cast<std::int64_t>(p.size()));
  }
  LogitsView logits = decoder.append(grid, {.chunk = chunk, .valid = valid}).value();
  std::vector<Ids> out(prompts.size());
  for (int i = 0; i < n; ++i) {
    Ids next;
    for (std::size_t b = 0; b < prompts.size(); ++b) {
      const float* row = logits.data + static_cast<std::int64_t>(b) * kVocab;
      next.push_back(argmax({row, kVocab}));
      out[b].push_back(next.back());
    }
    if (i + 1 < n) logits = decoder.append(next, {}).value();
  }
  return out;
}

TEST(DecoderBatch, RaggedPromptsInOneBatchAsAlone) {
  const std::vector<Ids> prompts = {{4, 8, 15, 16, 23}, {7}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {30, 2}};
  std::vector<Ids> want;
  for (const Ids& p : prompts) want.push_back(greedy({p}, 7, 0)[0]);
  for (std::int64_t chunk : {0, 1, 2, 4, 9}) EXPECT_EQ(greedy(prompts, 7, chunk), want) << chunk;
}

TEST(DecoderBatch, LimitsAreChecked) {
  auto log = std::make_shared<RunLog>();
  TableBackend backend(log);
  const Contract contract = testing::table_contract(kVocab, {.max_batch = 2});
  auto engine = backend.make_engine(TableModel::hashing(kVocab), contract);
  for (std::int64_t batch : {0, 3}) {
    auto made = Decoder::create(backend.allocator(), *engine, {batch, 0});
    EXPECT_EQ(made.status().code(), "decoder.bad_batch");
  }
  Decoder decoder = Decoder::create(backend.allocator(), *engine, {2, 0}).value();
  EXPECT_EQ(decoder.append(std::array{1, 2, 3}, {}).status().code(), "decoder.bad_ids");
  const std::array<std::int64_t, 2> too_many = {1, 3};
  EXPECT_EQ(decoder.append(std::array{1, 2, 3, 4}, {.valid = too_many}).status().code(),
            "decoder.bad_valid");
}

TEST(DecoderContract, WhatDoesNotFitIsNamed) {
  auto log = std::make_shared<RunLog>();
  TableBackend backend(log);
  const auto create = [&](const Contract& contract, std::int64_t rows = 0) {
    auto engine = backend.make_engine(TableModel::hashing(kVocab), contract);
    return Decoder::create(backend.allocator(), *engine, {1, rows}).status();
  };
  const Contract good = testing::table_contract(kVocab, {});
  EXPECT_TRUE(create(good).is_ok());
  EXPECT_EQ(create(good, 65).code(), "decoder.bad_capacity");

  Contract extra = good;
  extra.inputs.push_back({"pixels", DType::kFloat32, {"batch"}});
  EXPECT_EQ(create(extra).code(), "decoder.bad_contract");
  EXPECT_NE(create(extra).message().find("pixels"), std::string_view::npos);

  Contract lacks = good;
  std::erase_if(lacks.inputs, [](const TensorSpec& s) { return s.name == "kv_lengths"; });
  EXPECT_NE(create(lacks).message().find("kv_lengths"), std::string_view::npos);

  Contract wrong = good;
  wrong.inputs[0].dtype = DType::kInt32;
  EXPECT_NE(create(wrong).message().find("input_ids"), std::string_view::npos);

  Contract stateless = good;
  stateless.state.clear();
  EXPECT_EQ(create(stateless).code(), "decoder.bad_contract");
}

TEST(DecoderContract, MemoryIsGivenBack) {
  auto log = std::make_shared<RunLog>();
  TableBackend backend(log);
  auto& allocator = static_cast<testing::CountingAllocator&>(backend.allocator());
  auto engine =
      backend.make_engine(TableModel::hashing(kVocab), testing::table_contract(kVocab, {}));
  {
    Decoder decoder = Decoder::create(allocator, *engine, {}).value();
    EXPECT_EQ(allocator.live(), 2);
    EXPECT_EQ(decoder.cache().bytes(), 2u * 64 * 4);
  }
  EXPECT_EQ(allocator.live(), 0);
}

}  // namespace
}  // namespace trtmc
