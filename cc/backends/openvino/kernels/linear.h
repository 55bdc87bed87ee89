// Products of token rows with one or several checkpoint matrices, on all threads.
#pragma once

#include <span>

#include "cc/backends/openvino/kernels/table.h"
#include "cc/backends/openvino/kernels/workspace.h"

namespace trtmc::cpu {

enum class Compute : std::uint8_t {
  kF32,   // float32 products and sums, or as good
  kBF16,  // operands rounded to bfloat16 where the machine is faster with them
};

// y = x·Wᵀ (+ bias) (+ residual) for every job; all share x [rows, k]. Each matrix is read once.
// Arguments must be valid (ops/ checks them). Throws std::bad_alloc only.
void linear(Workspace& ws, std::span<const LinearJob> jobs, const float* x, int rows, int k,
            Compute compute);

// y = activation(x·Gᵀ) · (x·Uᵀ) for two matrices of one n, without residuals; the two products
// stay in the cache and are written nowhere. `y` of the jobs is not used.
void gated_linear(Workspace& ws, const LinearJob& gate, const LinearJob& up, Activation activation,
                  float* y, const float* x, int rows, int k, Compute compute);

}  // namespace trtmc::cpu
