// The table model of cc/testing as device code: what a run of it writes and answers, to the bit.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trtmc::tensorrt::testing {

// Addresses on the device. The cache holds one float a row: [batch, 1, rows, 1].
struct TableStep {
  const std::int64_t* input_ids = nullptr;
  const std::int64_t* position_ids = nullptr;
  const std::int32_t* write_indices = nullptr;
  const std::int64_t* logit_rows = nullptr;
  float* k_cache = nullptr;
  float* v_cache = nullptr;
  float* logits = nullptr;
  const float* bias = nullptr;  // one value added to each logit: an external weight; may be null
  std::int64_t batch = 1, tokens = 1, rows = 1, capacity = 0, vocab = 0;
};

// Queues it; gives the CUDA error.
cudaError_t launch_table_step(const TableStep& step, cudaStream_t stream);

}  // namespace trtmc::tensorrt::testing
