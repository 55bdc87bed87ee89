// Vectors of 16 floats with AVX-512 F/BW/VL/DQ. Included only by isa_avx512.cc, after its target
// pragma.
#pragma once

namespace trtmc::cpu::avx512 {

using Vec = __m512;
inline constexpr int kWidth = 16;
inline constexpr int kGemmRows = 6;  // weight rows x 4 vectors of tokens fill 24 of 32 registers
inline constexpr int kGemmVecs = 4;
inline constexpr int kAttendRows = 6;
inline constexpr int kAttendVecs = 4;
inline constexpr int kGemvRows = 8;

inline __mmask16 first(int n) { return static_cast<__mmask16>((1u << n) - 1); }

inline Vec zero() { return _mm512_setzero_ps(); }
inline Vec splat(float x) { return _mm512_set1_ps(x); }
inline Vec load(const float* p) { return _mm512_loadu_ps(p); }
inline Vec load_n(const float* p, int n) { return _mm512_maskz_loadu_ps(first(n), p); }
inline void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
inline void store_n(float* p, Vec v, int n) { _mm512_mask_storeu_ps(p, first(n), v); }
inline Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
inline Vec sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
inline Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
inline Vec div(Vec a, Vec b) { return _mm512_div_ps(a, b); }
inline Vec max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
inline Vec min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline Vec nfma(Vec a, Vec b, Vec c) { return _mm512_fnmadd_ps(a, b, c); }  // c - a·b
inline Vec round(Vec a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Vec scale2(Vec a, Vec n) { return _mm512_scalef_ps(a, n); }  // a · 2^n, n integral
inline Vec zero_below(Vec value, Vec x, Vec limit) {                // x < limit ? 0 : value
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), value);
}
inline float sum(Vec v) { return _mm512_reduce_add_ps(v); }
inline float max_of(Vec v) { return _mm512_reduce_max_ps(v); }

struct F16 {
  static constexpr std::size_t kBytes = 2;
  static Vec load(const void* p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p)); }
  static Vec load_n(const void* p, int n) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(n), p));
  }
};
struct BF16 {
  static constexpr std::size_t kBytes = 2;
  static Vec widen(__m256i v) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
  }
  static Vec load(const void* p) { return widen(_mm256_loadu_si256((const __m256i*)p)); }
  static Vec load_n(const void* p, int n) { return widen(_mm256_maskz_loadu_epi16(first(n), p)); }
};
struct F32 {
  static constexpr std::size_t kBytes = 4;
  static Vec load(const void* p) { return _mm512_loadu_ps(p); }
  static Vec load_n(const void* p, int n) { return _mm512_maskz_loadu_ps(first(n), p); }
};

}  // namespace trtmc::cpu::avx512
