#include "cc/backends/tensorrt/testing/table_step.h"

namespace trtmc::tensorrt::testing {
namespace {

__global__ void write_kernel(TableStep s) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= s.batch * s.tokens) return;
  const std::int64_t b = i / s.tokens;
  const std::int64_t row = b * s.capacity + s.write_indices[b] + i % s.tokens;
  s.k_cache[row] = static_cast<float>(s.input_ids[i]);
  s.v_cache[row] = static_cast<float>(s.position_ids[i]);
}

// A block makes one row of logits: a hash of all that its sequence holds up to it.
__global__ void logits_kernel(TableStep s) {
  __shared__ std::uint64_t hash;
  const std::int64_t flat = s.logit_rows[blockIdx.x], b = flat / s.tokens;
  if (threadIdx.x == 0) {
    hash = 14695981039346656037ull;
    const std::int64_t length = s.write_indices[b] + flat % s.tokens + 1;
    for (std::int64_t i = b * s.capacity; i < b * s.capacity + length; ++i) {
      hash = (hash ^ static_cast<std::uint64_t>(s.k_cache[i])) * 1099511628211ull;
      hash = (hash ^ static_cast<std::uint64_t>(s.v_cache[i])) * 1099511628211ull;
    }
  }
  __syncthreads();
  for (std::int64_t j = threadIdx.x; j < s.vocab; j += blockDim.x) {
    std::uint64_t x = hash + static_cast<std::uint64_t>(j) * 0x9E3779B97F4A7C15ull;
    x ^= x >> 31;
    x *= 0xBF58476D1CE4E5B9ull;
    x ^= x >> 29;
    s.logits[blockIdx.x * s.vocab + j] =
        static_cast<float>(x % 100003) / 10000.0f + (s.bias != nullptr ? s.bias[0] : 0.0f);
  }
}

}  // namespace

cudaError_t launch_table_step(const TableStep& step, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((step.batch * step.tokens + 127) / 128);
  write_kernel<<<blocks, 128, 0, stream>>>(step);
  logits_kernel<<<static_cast<unsigned>(step.rows), 64, 0, stream>>>(step);
  return cudaGetLastError();
}

}  // namespace trtmc::tensorrt::testing
