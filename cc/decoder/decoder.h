// Decoder: the one KV-cache decoding core that every decoder family shares.
//
// append() evaluates new ids behind what the cache holds and gives logits: a prompt (in chunks
// that the context profile allows) and a single step take the same path. rollback() and reset()
// only change numbers, so they cost nothing; reuse_prefix() keeps the part of an earlier prompt.
//
//   Decoder decoder = Decoder::create(backend.allocator(), *engine, {}).value();
//   decoder.reuse_prefix(0, prompt);
//   auto logits = decoder.append(rest_of_prompt, {});      // logits of its last id
//   logits = decoder.append(std::array{next_id}, {});      // one step
//
// Batches: `ids` is [batch, T] row-major, sequences may have different lengths in the cache, and
// AppendOptions::valid lets shorter ones be padded.
//
// If a run fails or is cancelled, what earlier chunks wrote counts and the rest does not: the
// decoder stays usable. One thread at a time. Knows nothing of families, sampling or text.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cc/decoder/cache_ledger.h"
#include "cc/decoder/kv_cache.h"
#include "cc/decoder/step_inputs.h"
#include "trtmc/backend.h"
#include "trtmc/pipeline.h"
#include "trtmc/status.h"

namespace trtmc {

// More ids in one run gain no speed and only need more scratch memory.
inline constexpr std::int64_t kDefaultChunk = 512;

struct DecoderOptions {
  std::int64_t batch = 1;
  std::int64_t max_sequence = 0;  // cache rows; 0: the contract's limit
};

enum class LogitRows {
  kLast,  // of each sequence, the row of its last id: [batch, vocab]
  kAll,   // every id: [batch * T, vocab], in the order of `ids`
};

struct AppendOptions {
  LogitRows rows = LogitRows::kLast;
  std::int64_t chunk = 0;                     // ids per run; 0: kDefaultChunk, bounded by profile
  std::span<const std::int64_t> valid = {};   // ids that count per sequence, 1 to T; empty: all T
  const std::atomic<bool>* cancel = nullptr;  // looked at between runs
};

class Decoder {
 public:
  // The allocator and the engine must outlive the decoder. "decoder.bad_contract" names what a
  // decoder's contract lacks or has too much.
  static Result<Decoder> create(DeviceAllocator& allocator, Engine& engine,
                                const DecoderOptions& options);

  // The view is valid until the next call. "decoder.full" (kResource) if the cache has too few
  // free rows, "decoder.cancelled" (kInterrupted).
  Result<LogitsView> append(std::span<const std::int32_t> ids, const AppendOptions& options);

  // Keeps of sequence `sequence` the longest common beginning of cache and prompt, but leaves at
  // least the prompt's last id to be evaluated. Returns how many ids were kept.
  std::int64_t reuse_prefix(std::int64_t sequence, std::span<const std::int32_t> prompt);

  // "decoder.bad_rollback" (kInternal) for a length that the sequence does not have.
  Status rollback(std::int64_t sequence, std::int64_t length);
  void reset() { ledger_.reset(); }

  const CacheLedger& ledger() const { return ledger_; }
  const KvCache& cache() const { return cache_; }
  std::int64_t vocab() const { return vocab_; }

 private:
  Decoder(KvCache cache, CacheLedger ledger, std::unique_ptr<Session> session,
          const Contract& contract, std::int64_t vocab);

  struct Chunk {
    std::int64_t begin = 0;
    std::int64_t size = 0;
  };
  Status check_append(std::span<const std::int32_t> ids, const AppendOptions& options) const;
  std::int64_t chunk_limit(std::int64_t asked) const;
  std::vector<std::int64_t> wanted_rows(const Chunk& chunk, std::span<const std::int64_t> valid,
                                        LogitRows rows) const;
  Status select_profile(std::int64_t tokens);
  Result<Tensor> run_chunk(std::span<const std::int32_t> ids, std::span<const std::int64_t> rows);

  KvCache cache_;
  CacheLedger ledger_;
  std::unique_ptr<Session> session_;
  const Contract* contract_;  // the engine's
  std::int64_t vocab_;
  std::string_view profile_;
  StepInputs inputs_;
  std::vector<std::int32_t> chunk_ids_;
  std::vector<float> collected_;
};

}  // namespace trtmc
