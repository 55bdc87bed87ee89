// Matrix product on AVX512_BF16: operands rounded to bfloat16, float32 sums, twice FMA's rate.
#pragma once

#include "cc/backends/openvino/kernels/table.h"

namespace trtmc::cpu {

// Use only if has_avx512_bf16().
GemmKernel bf16_gemm();

}  // namespace trtmc::cpu
