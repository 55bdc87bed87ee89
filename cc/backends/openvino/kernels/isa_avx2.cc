// The kernels compiled for AVX2.
//
// The target is set by pragma after the standard headers, not by compiler flags: an inline
// function of theirs, compiled here for these instructions, could otherwise be the copy that the
// linker keeps for the whole library.
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "cc/backends/openvino/kernels/table.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif

#include "cc/backends/openvino/kernels/simd_avx2.h"

namespace trtmc::cpu {
namespace avx2 {
namespace {

#include "cc/backends/openvino/kernels/body_math.h"
#include "cc/backends/openvino/kernels/body_gemv.h"
#include "cc/backends/openvino/kernels/body_gemm.h"
#include "cc/backends/openvino/kernels/body_attention.h"

KernelTable make_table() {
  KernelTable t{};
  t.isa = Isa::kAvx2;
#include "cc/backends/openvino/kernels/body_table.h"
  return t;
}

}  // namespace
}  // namespace avx2

const KernelTable& avx2_table() {
  static const KernelTable table = avx2::make_table();
  return table;
}

}  // namespace trtmc::cpu

#if defined(__clang__)
#pragma clang attribute pop
#endif
