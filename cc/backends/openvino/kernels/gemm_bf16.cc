#include "cc/backends/openvino/kernels/gemm_bf16.h"

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

// By pragma and after the standard headers, for the reason given in isa_avx512.cc.
#if defined(__clang__)
#pragma clang attribute push(                                                               \
    __attribute__((target("avx512bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c"))), \
    apply_to = function)
#else
#pragma GCC target("avx512bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false, from the headers of gcc 12
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace trtmc::cpu {
namespace {

// Yᵀ = W·Xᵀ as in body_gemm.h, two k at a time: a lane holds a pair of bfloat16.
constexpr int kLanes = 16;
constexpr int kRows = 6;
constexpr int kVecs = 4;
constexpr int kPanel = kVecs * kLanes;

int vectors(int rows) { return (rows + kLanes - 1) / kLanes; }
int pairs(int k) { return (k + 1) / 2; }

// To the nearest, halves to even; NaN stays NaN.
std::uint32_t round_bf16(float value) {
  const __m128bh one = _mm_cvtneps_pbh(_mm_set_ss(value));
  std::uint16_t bits[8];
  __builtin_memcpy(bits, &one, sizeof(bits));
  return bits[0];
}

std::size_t packed_bytes(int rows, int k) {
  return static_cast<std::size_t>(vectors(rows)) * kLanes * pairs(k) * sizeof(std::uint32_t);
}

// Unit = one vector of tokens; a panel is [pairs][its vectors][16].
void pack(const float* x, int rows, int k, int unit, void* packed) {
  const int panel = unit / kVecs, width = std::min(kVecs, vectors(rows) - panel * kVecs) * kLanes;
  auto* out = static_cast<std::uint32_t*>(packed) +
              static_cast<std::size_t>(panel) * kPanel * pairs(k) + (unit % kVecs) * kLanes;
  for (int t = 0; t < kLanes; ++t) {
    const int token = unit * kLanes + t;
    const float* from = x + static_cast<std::size_t>(token) * k;
    for (int p = 0; p < pairs(k); ++p) {
      std::uint32_t low = 0, high = 0;
      if (token < rows) {
        low = round_bf16(from[2 * p]);
        if (2 * p + 1 < k) high = round_bf16(from[2 * p + 1]);
      }
      out[static_cast<std::size_t>(p) * width + t] = low | (high << 16);
    }
  }
}

// `count` matrix rows to [kRows][pairs(k)]; the other rows are zero.
void pack_weights(const LinearJob& job, int output, int count, int k, std::uint32_t* out) {
  const std::size_t bytes = weight_bytes(job.type), row_words = static_cast<std::size_t>(pairs(k));
  const auto* source = static_cast<const std::byte*>(job.weight);
  std::fill(out, out + kRows * row_words, 0u);
  for (int i = 0; i < count; ++i) {
    const std::byte* from = source + static_cast<std::size_t>(output + i) * k * bytes;
    auto* to = reinterpret_cast<std::uint16_t*>(out + i * row_words);
    for (int j = 0; j < k; j += kLanes) {
      const int n = std::min(kLanes, k - j);
      const auto m = static_cast<__mmask16>((1u << n) - 1);
      const void* p = from + j * bytes;
      __m256i bits;
      if (job.type == WeightType::kBF16) {
        bits = _mm256_maskz_loadu_epi16(m, p);
      } else {
        const __m512 v = job.type == WeightType::kF32
                             ? _mm512_maskz_loadu_ps(m, p)
                             : _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(m, p));
        bits = (__m256i)_mm512_cvtneps_pbh(v);
      }
      _mm256_mask_storeu_epi16(to + j, m, bits);
    }
  }
}

template <int kV>
void tile(const std::uint32_t* w, const std::uint32_t* x, int count, float* out) {
  __m512 acc[kRows][kV];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kV; ++v) acc[i][v] = _mm512_setzero_ps();
  }
  for (int p = 0; p < count; ++p, x += kV * kLanes) {
    __m512bh xv[kV];
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) xv[v] = (__m512bh)_mm512_loadu_si512(x + v * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const auto wv =
          (__m512bh)_mm512_set1_epi32(static_cast<int>(w[static_cast<std::size_t>(i) * count + p]));
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) acc[i][v] = _mm512_dpbf16_ps(acc[i][v], wv, xv[v]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kV; ++v) _mm512_storeu_ps(out + i * kPanel + v * kLanes, acc[i][v]);
  }
}

void put(const LinearJob& job, const float* sums, int tokens, int token, int output, int outputs) {
  for (int t = 0; t < tokens; ++t) {
    const std::size_t at = static_cast<std::size_t>(token + t) * job.n + output;
    for (int i = 0; i < outputs; ++i) {
      float value = sums[i * kPanel + t];
      if (job.bias != nullptr) value += job.bias[output + i];
      if (job.residual != nullptr) value += job.residual[at + i];
      job.y[at + i] = value;
    }
  }
}

std::size_t scratch_bytes(int, int k) {
  return (static_cast<std::size_t>(pairs(k)) * kRows + kRows * kPanel) * sizeof(float);
}

void run(const LinearJob& job, const PackedRows& x, int n0, int n1, void* scratch) {
  auto* sums = static_cast<float*>(scratch);
  auto* w = reinterpret_cast<std::uint32_t*>(sums + kRows * kPanel);
  const auto* data = static_cast<const std::uint32_t*>(x.data);
  const int count = pairs(x.k);
  for (int output = n0; output < n1; output += kRows) {
    const int outputs = std::min(kRows, n1 - output);
    pack_weights(job, output, outputs, x.k, w);
    for (int token = 0; token < x.rows; token += kPanel) {
      const int tokens = std::min(kPanel, x.rows - token);
      const std::uint32_t* panel = data + static_cast<std::size_t>(token) * count;
      switch (vectors(tokens)) {
        case 1: tile<1>(w, panel, count, sums); break;
        case 2: tile<2>(w, panel, count, sums); break;
        case 3: tile<3>(w, panel, count, sums); break;
        default: tile<4>(w, panel, count, sums); break;
      }
      put(job, sums, tokens, token, output, outputs);
    }
  }
}

}  // namespace

GemmKernel bf16_gemm() {
  GemmKernel g;
  g.block = kRows;
  g.min_rows = 12;
  g.packed_bytes = packed_bytes;
  g.pack_units = vectors;
  g.pack = pack;
  g.scratch_bytes = scratch_bytes;
  g.run = run;
  return g;
}

}  // namespace trtmc::cpu

#if defined(__clang__)
#pragma clang attribute pop
#endif
