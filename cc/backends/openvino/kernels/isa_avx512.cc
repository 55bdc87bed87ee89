// The kernels compiled for AVX512.
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
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false, from the headers of gcc 12
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#endif

#include "cc/backends/openvino/kernels/simd_avx512.h"

namespace trtmc::cpu {
namespace avx512 {
namespace {

#include "cc/backends/openvino/kernels/body_math.h"
#include "cc/backends/openvino/kernels/body_gemv.h"
#include "cc/backends/openvino/kernels/body_gemm.h"
#include "cc/backends/openvino/kernels/body_attention.h"

KernelTable make_table() {
  KernelTable t{};
  t.isa = Isa::kAvx512;
#include "cc/backends/openvino/kernels/body_table.h"
  return t;
}

}  // namespace
}  // namespace avx512

const KernelTable& avx512_table() {
  static const KernelTable table = avx512::make_table();
  return table;
}

}  // namespace trtmc::cpu

#if defined(__clang__)
#pragma clang attribute pop
#endif
