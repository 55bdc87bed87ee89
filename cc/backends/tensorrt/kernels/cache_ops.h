// CacheOps: what is done to a KV cache between runs, on the device and in place: clearing rows,
// keeping some rows of a sequence, and giving the places of a batch new contents.
//
// A cache is a number of tensors of one shape, [batch, heads, rows, size]. All calls only queue
// work on the stream; they allocate nothing. Knows bytes, not dtypes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "trtmc/status.h"

namespace trtmc::tensorrt {

struct CacheLayout {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t rows = 0;
  std::int64_t row_bytes = 0;
};

inline constexpr std::int64_t kMostSequences = 64;

// Zeroes rows [first, last) of one sequence.
Status clear_rows(std::span<void* const> tensors, const CacheLayout& layout, std::int64_t sequence,
                  std::int64_t first, std::int64_t last, cudaStream_t stream);

// Row i of the sequence becomes what row keep[i] was, for i < count. `keep` is on the device,
// strictly ascending and below layout.rows; whoever fills it answers for that.
Status keep_rows(std::span<void* const> tensors, const CacheLayout& layout, std::int64_t sequence,
                 const std::int32_t* keep, std::int64_t count, cudaStream_t stream);

// Sequence b becomes what sequence sources[b] was, all at once, for the first `rows` rows. One
// source may serve several (beam search). `sources` is on the host, one per sequence of the batch.
Status reorder_sequences(std::span<void* const> tensors, const CacheLayout& layout,
                         std::span<const std::int32_t> sources, std::int64_t rows,
                         cudaStream_t stream);

// The order in which single moves do what reorder_sequences() means, with one temporary: a move
// {to, from}, where kTemporary is the temporary. Public for its test.
inline constexpr std::int32_t kTemporary = -1;
struct Move {
  std::int32_t to = 0, from = 0;
};
// At most 3/2 of the sequences; returns how many moves stand in `moves`.
int plan_moves(std::span<const std::int32_t> sources, std::span<Move> moves);

}  // namespace trtmc::tensorrt
