// Matrix products on AMX tiles: float32 quality from bfloat16 multipliers.
//
// A float16 weight is the exact sum of two bfloat16 numbers, a float32 number of three. The tile
// unit multiplies bfloat16 exactly and adds in float32, so a product of such sums, less the terms
// below 2^-24 of it, is as good as float32's own, at several times the speed of FMA.
#pragma once

#include "cc/backends/openvino/kernels/table.h"

namespace trtmc::cpu {

// Use only if active_isa() is kAmx.
GemmKernel amx_gemm_exact();  // all products of terms i·j with i + j ≤ 2
GemmKernel amx_gemm_fast();   // leading terms alone

}  // namespace trtmc::cpu
