// Causal attention over a cache that the caller owns, with rotary embedding and cache update.
#pragma once

#include <cstdint>

#include "cc/backends/openvino/kernels/workspace.h"

namespace trtmc::cpu {

// All arrays row-major float32. Valid arguments are the caller's duty (ops/ checks them):
// 0 ≤ write[b], write[b] + T ≤ S, 0 ≤ length[b] ≤ S, positions inside the tables.
struct AttentionArgs {
  const float* q = nullptr;  // [B, T, q_heads·D]
  const float* k = nullptr;  // [B, T, kv_heads·D]
  const float* v = nullptr;
  float* k_cache = nullptr;  // [B, kv_heads, S, D], updated in place
  float* v_cache = nullptr;
  float* out = nullptr;  // [B, T, q_heads·D]
  int batch = 0, tokens = 0, q_heads = 0, kv_heads = 0, head_dim = 0, capacity = 0;
  const int* write = nullptr;     // [B]
  const int* length = nullptr;    // [B], valid rows after the update
  const int* position = nullptr;  // [B, T]; unused when rotary_half is 0
  const float* cos = nullptr;     // [positions, rotary_half]
  const float* sin = nullptr;
  int rotary_half = 0;
  bool interleaved = false;
  float scale = 1.0f;
  int window = 0;  // 0: none
};

// Query t of element b sees keys j ≤ t + length[b] - T, the last `window` of them. A query that
// sees none gives zeros. Throws std::bad_alloc only.
void attention(Workspace& ws, const AttentionArgs& args);

}  // namespace trtmc::cpu
