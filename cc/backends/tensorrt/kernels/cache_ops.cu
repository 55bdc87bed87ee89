#include <algorithm>

#include "cc/backends/tensorrt/kernels/cache_ops.h"

namespace trtmc::tensorrt {
namespace {

constexpr int kThreads = 256;
constexpr int kGroup = 64;   // tensors of one launch
constexpr int kUnroll = 16;  // rows in flight of one thread of keep_rows
constexpr std::int64_t kMostBlocks = 1 << 16;

struct Tensors {
  char* data[kGroup];
};

struct Moves {
  Move list[kMostSequences * 3 / 2];
  int count = 0;
};

// T is the widest word that rows and tensors are aligned to. Sizes below are in words.
template <class T>
__global__ void clear_kernel(Tensors tensors, std::int64_t sequence, std::int64_t heads,
                             std::int64_t rows, std::int64_t words, std::int64_t first,
                             std::int64_t count) {
  T* const at = reinterpret_cast<T*>(tensors.data[blockIdx.y]) + sequence * heads * rows * words;
  const std::int64_t span = count * words, total = heads * span;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += step) {
    at[(i / span * rows + first) * words + i % span] = T{};
  }
}

// A thread owns one word of all rows of a head. Sources lie at or behind their places, so reading
// a few rows ahead of writing them is safe.
template <class T>
__global__ void keep_kernel(Tensors tensors, std::int64_t sequence, std::int64_t heads,
                            std::int64_t rows, std::int64_t words, const std::int32_t* keep,
                            std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= heads * words) return;
  T* const column = reinterpret_cast<T*>(tensors.data[blockIdx.y]) +
                    (sequence * heads + i / words) * rows * words + i % words;
  for (std::int64_t row = 0; row < count; row += kUnroll) {
    T held[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      if (row + k < count) held[k] = column[keep[row + k] * words];
    }
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      if (row + k < count) column[(row + k) * words] = held[k];
    }
  }
}

// A thread owns one word of every sequence.
template <class T>
__global__ void reorder_kernel(Tensors tensors, Moves moves, std::int64_t heads, std::int64_t rows,
                               std::int64_t words, std::int64_t used_rows) {
  T* const base = reinterpret_cast<T*>(tensors.data[blockIdx.y]);
  const std::int64_t span = used_rows * words, total = heads * span, stride = heads * rows * words;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += step) {
    T* const at = base + i / span * rows * words + i % span;
    T aside{};
    for (int m = 0; m < moves.count; ++m) {
      const Move move = moves.list[m];
      const T value = move.from == kTemporary ? aside : at[move.from * stride];
      if (move.to == kTemporary) {
        aside = value;
      } else {
        at[move.to * stride] = value;
      }
    }
  }
}

Status bad(const std::string& what) { return internal_error("backend.bad_cache_call", what); }

Status check(std::span<void* const> tensors, const CacheLayout& l, std::int64_t sequence) {
  if (l.batch < 1 || l.heads < 1 || l.rows < 1 || l.row_bytes < 1) return bad("an empty layout");
  if (sequence < 0 || sequence >= l.batch) {
    return bad("sequence " + std::to_string(sequence) + " of " + std::to_string(l.batch));
  }
  const bool missing = std::find(tensors.begin(), tensors.end(), nullptr) != tensors.end();
  return missing ? bad("a tensor without memory") : Status::ok();
}

std::int64_t word_bytes(std::span<void* const> tensors, const CacheLayout& layout) {
  std::uintptr_t bits = static_cast<std::uintptr_t>(layout.row_bytes) | 16;
  for (void* const tensor : tensors) bits |= reinterpret_cast<std::uintptr_t>(tensor);
  return static_cast<std::int64_t>(bits & -bits);
}

dim3 grid(std::int64_t threads, std::size_t tensors) {
  const std::int64_t blocks = (threads + kThreads - 1) / kThreads;
  return {static_cast<unsigned>(std::min(blocks, kMostBlocks)), static_cast<unsigned>(tensors), 1};
}

// Calls launch(word type, group of tensors, words in a row) for each group.
template <class Launch>
Status for_groups(std::span<void* const> tensors, const CacheLayout& layout, Launch launch) {
  const std::int64_t bytes = word_bytes(tensors, layout);
  for (std::size_t begin = 0; begin < tensors.size(); begin += kGroup) {
    const std::size_t count = std::min<std::size_t>(kGroup, tensors.size() - begin);
    Tensors group{};
    for (std::size_t i = 0; i < count; ++i) group.data[i] = static_cast<char*>(tensors[begin + i]);
    const std::int64_t words = layout.row_bytes / bytes;
    switch (bytes) {
      case 16: launch(uint4{}, group, count, words); break;
      case 8: launch(uint2{}, group, count, words); break;
      case 4: launch(std::uint32_t{}, group, count, words); break;
      case 2: launch(std::uint16_t{}, group, count, words); break;
      default: launch(std::uint8_t{}, group, count, words); break;
    }
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
      return internal_error("backend.cuda_failed",
                            std::string("a cache kernel: ") + cudaGetErrorString(error));
    }
  }
  return Status::ok();
}

}  // namespace

Status clear_rows(std::span<void* const> tensors, const CacheLayout& l, std::int64_t sequence,
                  std::int64_t first, std::int64_t last, cudaStream_t stream) {
  TRTMC_RETURN_IF_ERROR(check(tensors, l, sequence));
  if (first < 0 || last < first || last > l.rows) {
    return bad("rows " + std::to_string(first) + " to " + std::to_string(last) + " of " +
               std::to_string(l.rows));
  }
  if (first == last) return Status::ok();
  return for_groups(tensors, l,
                    [&](auto word, const Tensors& group, std::size_t n, std::int64_t words) {
                      const std::int64_t total = l.heads * (last - first) * words;
                      clear_kernel<decltype(word)><<<grid(total, n), kThreads, 0, stream>>>(
                          group, sequence, l.heads, l.rows, words, first, last - first);
                    });
}

Status keep_rows(std::span<void* const> tensors, const CacheLayout& l, std::int64_t sequence,
                 const std::int32_t* keep, std::int64_t count, cudaStream_t stream) {
  TRTMC_RETURN_IF_ERROR(check(tensors, l, sequence));
  if (count < 0 || count > l.rows || (count > 0 && keep == nullptr)) {
    return bad("to keep " + std::to_string(count) + " rows of " + std::to_string(l.rows));
  }
  if (count == 0) return Status::ok();
  return for_groups(
      tensors, l, [&](auto word, const Tensors& group, std::size_t n, std::int64_t words) {
        // Few threads in a block: there are only heads x words of them, and more blocks are more
        // SMs.
        constexpr int kFew = 64;
        const dim3 blocks(static_cast<unsigned>((l.heads * words + kFew - 1) / kFew),
                          static_cast<unsigned>(n));
        keep_kernel<decltype(word)>
            <<<blocks, kFew, 0, stream>>>(group, sequence, l.heads, l.rows, words, keep, count);
      });
}

Status reorder_sequences(std::span<void* const> tensors, const CacheLayout& l,
                         std::span<const std::int32_t> sources, std::int64_t rows,
                         cudaStream_t stream) {
  TRTMC_RETURN_IF_ERROR(check(tensors, l, 0));
  if (static_cast<std::int64_t>(sources.size()) != l.batch || l.batch > kMostSequences) {
    return bad(std::to_string(sources.size()) + " sources for a batch of " +
               std::to_string(l.batch) + ", at most " + std::to_string(kMostSequences));
  }
  for (const std::int32_t source : sources) {
    if (source < 0 || source >= l.batch) return bad("source " + std::to_string(source));
  }
  if (rows < 0 || rows > l.rows)
    return bad(std::to_string(rows) + " rows of " + std::to_string(l.rows));
  Moves moves;
  moves.count = plan_moves(sources, moves.list);
  if (moves.count == 0 || rows == 0) return Status::ok();
  return for_groups(
      tensors, l, [&](auto word, const Tensors& group, std::size_t n, std::int64_t words) {
        reorder_kernel<decltype(word)><<<grid(l.heads * rows * words, n), kThreads, 0, stream>>>(
            group, moves, l.heads, l.rows, words, rows);
      });
}

}  // namespace trtmc::tensorrt
