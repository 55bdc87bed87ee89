// KernelTable: the single-threaded kernels of one instruction set, as function pointers.
//
// Each isa_*.cc compiles the same bodies (body_*.h) for its instructions and fills one table. All
// arrays are row-major; "rows" are token rows. No kernel checks its arguments: ops/ does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cc/backends/openvino/kernels/cpu.h"

namespace trtmc::cpu {

enum class WeightType : std::uint8_t { kF16, kBF16, kF32 };
enum class Activation : std::uint8_t { kSilu, kGeluTanh, kGelu, kRelu, kQuickGelu, kMish };

constexpr std::size_t weight_bytes(WeightType type) { return type == WeightType::kF32 ? 4 : 2; }

// One matrix [n,k] as in the checkpoint, and where its products go.
struct LinearJob {
  const void* weight = nullptr;
  WeightType type = WeightType::kF16;
  int n = 0;
  const float* bias = nullptr;      // [n] or none
  const float* residual = nullptr;  // [rows, n] or none; may be y itself
  float* y = nullptr;               // [rows, n]
};

// Token rows repacked for a GEMM kernel.
struct PackedRows {
  const void* data = nullptr;
  int rows = 0;
  int k = 0;
};

// A matrix product for many rows, in two phases: pack the token rows (pack_units independent
// units), then outputs [n0,n1) of each job, n0 a multiple of `block`. `scratch` is per thread.
struct GemmKernel {
  int block = 1;
  int min_rows = 1;  // with fewer rows `gemv` is faster
  std::size_t (*packed_bytes)(int rows, int k) = nullptr;
  int (*pack_units)(int rows) = nullptr;
  void (*pack)(const float* x, int rows, int k, int unit, void* packed) = nullptr;
  std::size_t (*scratch_bytes)(int rows, int k) = nullptr;
  void (*run)(const LinearJob& job, const PackedRows& x, int n0, int n1, void* scratch) = nullptr;
};

// State of one query row between blocks of keys: running maximum, sum and weighted values.
struct AttentionState {
  float* max = nullptr;  // [rows]
  float* sum = nullptr;  // [rows]
  float* acc = nullptr;  // [rows, attention_stride(head_dim)]
};

// Query rows of one key/value head against keys [begin, end). Row r sees keys [first[r], last[r]).
struct AttentionBlock {
  const float* const* q = nullptr;  // [rows] pointers to head_dim values, scale applied
  const int* first = nullptr;
  const int* last = nullptr;
  int rows = 0;
  int head_dim = 0;
  const float* k = nullptr;  // [S, head_dim]
  const float* v = nullptr;
  int begin = 0;
  int end = 0;
  float* scratch = nullptr;  // attention_scratch() floats
};

inline constexpr int kMaxGemvRows = 16;          // of one call of `gemv`
inline constexpr int kKeyBlock = 64;             // keys per block of the packed attention
inline constexpr int kPackedAttentionRows = 16;  // from here on transposing the keys pays

struct KernelTable {
  Isa isa;
  // Outputs [n0,n1) of `rows` ≤ kMaxGemvRows rows x [rows,k]. The sum of an output depends on k
  // alone: not on rows, n0 or n1.
  void (*gemv)(const LinearJob& job, const float* x, int rows, int k, int n0, int n1);

  GemmKernel exact;  // float32 products and sums, or as good
  GemmKernel fast;   // operands rounded to bfloat16; the same as `exact` where that gains nothing

  void (*decode)(WeightType type, const void* source, float* out, int count);
  void (*rms_norm)(const float* x, const float* weight, float epsilon, int size, int groups,
                   float* y);
  void (*gated)(Activation activation, const float* gate, const float* up, float* y, int count);
  void (*add)(const float* a, const float* b, float* y, int count);
  // out = x rotated by cos/sin [half], the rest of head_dim copied; then times `scale`.
  void (*rotate)(const float* x, const float* cos, const float* sin, int half, int head_dim,
                 bool interleaved, float scale, float* out);
  // Adds keys [begin,end) to `state`; the caller starts with max = -inf, sum = acc = 0.
  void (*attend)(const AttentionBlock& block, const AttentionState& state);
  void (*exp)(const float* x, float* y, int count);  // for the accuracy test
};

// Floats per row of AttentionState::acc: head_dim rounded up to whole vectors.
constexpr int attention_stride(int head_dim) { return (head_dim + 15) / 16 * 16; }

constexpr std::size_t attention_scratch(int head_dim) {
  return static_cast<std::size_t>(kKeyBlock) * static_cast<std::size_t>(head_dim + 8);
}

const KernelTable& portable_table();
const KernelTable& avx2_table();
const KernelTable& avx512_table();

// The table for active_isa(). kAvx512 has the fast product of gemm_bf16.h where that is faster,
// kAmx both of gemm_amx.h.
const KernelTable& kernels();

}  // namespace trtmc::cpu
