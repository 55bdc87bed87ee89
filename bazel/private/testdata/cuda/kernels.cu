// Everything that once made objects differ from folder to folder: an anonymous namespace, a static initialiser, headers that use __FILE__, C++20 and half types.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <concepts>
#include <cuda/std/span>
#include <string>

#include "bazel/private/testdata/cuda/kernels.h"

namespace {

const std::string kGreeting = std::string("a static ") + "initialiser";

template <std::floating_point T>
__global__ void add_kernel(cuda::std::span<T> data, T value) {
  const auto i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < data.size()) data[i] += value + static_cast<T>(__half2float(__float2half(0.0f)));
}

__global__ void narrow_kernel(const float* from, __nv_bfloat16* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = __float2bfloat16(from[i]);
}

}  // namespace

int add_one(float* data, int count) {
  if (count < 0) {
    narrow_kernel<<<1, 32>>>(data, nullptr, 0);
    return static_cast<int>(kGreeting.size());
  }
  add_kernel<float><<<(count + 255) / 256, 256>>>({data, static_cast<std::size_t>(count)}, 1.0f);
  return static_cast<int>(cudaGetLastError());
}
