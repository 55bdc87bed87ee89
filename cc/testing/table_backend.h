// TableBackend: a test double that stands where a backend stands and needs no engine.
//
// Its "model" is a table: the logits after token i are row i (so any id sequence can be forced).
// With `history` set they are a hash of everything in the cache instead, so that one wrong row,
// position or length changes the answer. The cache is real memory handed in by the caller: run()
// writes ids into k_cache_0 and positions into v_cache_0, reads them back from there, and refuses
// any call whose order, shapes, addresses or numbers a real backend could not serve.
//
// Every run is recorded in a RunLog that the test shares with it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trtmc/backend.h"

namespace trtmc::testing {

struct TableModel {
  std::int64_t vocab = 0;
  bool history = false;
  std::vector<float> table;  // [vocab, vocab]; unused with history

  // 8 bytes "TABLEMDL", u32 vocab, u32 history, then the table: little-endian.
  std::vector<std::byte> serialize() const;
  static Result<TableModel> parse(std::span<const std::byte> bytes);

  // The walk that greedy decoding takes: after path[i] comes path[i + 1].
  static TableModel path(std::int64_t vocab, const std::vector<std::int32_t>& path);
  static TableModel hashing(std::int64_t vocab) { return {vocab, true, {}}; }
};

struct RunRecord {
  std::string profile;
  std::vector<std::int64_t> input_ids, position_ids, logit_rows;
  std::vector<std::int32_t> write_indices, kv_lengths;
  const void* k_cache = nullptr;
  Shape ids_shape;
};

struct RunLog {
  std::vector<RunRecord> runs;
  int binds = 0;
  int fail_at_run = -1;  // that run (from 0) returns an error after writing half its rows
};

struct TableLimits {
  std::int64_t max_batch = 1;
  std::int64_t max_sequence = 64;
  std::int64_t max_chunk = 64;  // of the context profile
};

// Contract of a decoder with one layer, as a bundle would state it.
Contract table_contract(std::int64_t vocab, const TableLimits& limits);

// Host memory that is zeroed, aligned and counted.
class CountingAllocator final : public DeviceAllocator {
 public:
  Result<DeviceTensor> allocate(DType dtype, const Shape& shape) override;
  std::int64_t live() const { return *live_; }

 private:
  std::shared_ptr<std::int64_t> live_ = std::make_shared<std::int64_t>(0);
};

class TableBackend final : public Backend {
 public:
  explicit TableBackend(std::shared_ptr<RunLog> log) : log_(std::move(log)) {}

  std::string_view name() const override { return "table"; }
  std::string_view version() const override { return "1"; }
  Status check_target(const TargetInfo& target) const override;
  DeviceAllocator& allocator() override { return allocator_; }
  Result<std::unique_ptr<Engine>> load(const EngineBlob& blob, const Contract& contract,
                                       const EngineOptions& options) override;

  // Without bytes.
  std::unique_ptr<Engine> make_engine(TableModel model, const Contract& contract);

 private:
  std::shared_ptr<RunLog> log_;
  CountingAllocator allocator_;
};

}  // namespace trtmc::testing
