// Vectors of 8 floats with AVX2, FMA and F16C. Included only by isa_avx2.cc, after its target
// pragma.
#pragma once

namespace trtmc::cpu::avx2 {

using Vec = __m256;
inline constexpr int kWidth = 8;
inline constexpr int kGemmRows = 4;  // 4 x 3 sums, 3 token vectors, 1 weight: 16 registers
inline constexpr int kGemmVecs = 3;
inline constexpr int kAttendRows = 4;
inline constexpr int kAttendVecs = 3;
inline constexpr int kGemvRows = 8;

inline __m256i first(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline Vec zero() { return _mm256_setzero_ps(); }
inline Vec splat(float x) { return _mm256_set1_ps(x); }
inline Vec load(const float* p) { return _mm256_loadu_ps(p); }
inline Vec load_n(const float* p, int n) { return _mm256_maskload_ps(p, first(n)); }
inline void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
inline void store_n(float* p, Vec v, int n) { _mm256_maskstore_ps(p, first(n), v); }
inline Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
inline Vec sub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
inline Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
inline Vec div(Vec a, Vec b) { return _mm256_div_ps(a, b); }
inline Vec max(Vec a, Vec b) { return _mm256_max_ps(a, b); }
inline Vec min(Vec a, Vec b) { return _mm256_min_ps(a, b); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec nfma(Vec a, Vec b, Vec c) { return _mm256_fnmadd_ps(a, b, c); }
inline Vec round(Vec a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// In two steps, so that 2^n itself may be out of range.
inline Vec scale2(Vec a, Vec n) {
  const __m256i i = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(i, 1);
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i lo = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
  const __m256i hi = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(i, half), bias), 23);
  return mul(mul(a, _mm256_castsi256_ps(lo)), _mm256_castsi256_ps(hi));
}
inline Vec zero_below(Vec value, Vec x, Vec limit) {
  return _mm256_and_ps(value, _mm256_cmp_ps(x, limit, _CMP_NLT_UQ));
}
inline float sum(Vec v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
inline float max_of(Vec v) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

// The last, short vector of 16-bit values goes through a buffer: never read past an array.
inline __m128i load_u16_n(const void* p, int n) {
  alignas(16) std::uint16_t buffer[8] = {};
  __builtin_memcpy(buffer, p, static_cast<std::size_t>(n) * 2);
  return _mm_load_si128((const __m128i*)buffer);
}

struct F16 {
  static constexpr std::size_t kBytes = 2;
  static Vec load(const void* p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p)); }
  static Vec load_n(const void* p, int n) { return _mm256_cvtph_ps(load_u16_n(p, n)); }
};
struct BF16 {
  static constexpr std::size_t kBytes = 2;
  static Vec widen(__m128i v) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
  }
  static Vec load(const void* p) { return widen(_mm_loadu_si128((const __m128i*)p)); }
  static Vec load_n(const void* p, int n) { return widen(load_u16_n(p, n)); }
};
struct F32 {
  static constexpr std::size_t kBytes = 4;
  static Vec load(const void* p) { return _mm256_loadu_ps((const float*)p); }
  static Vec load_n(const void* p, int n) { return _mm256_maskload_ps((const float*)p, first(n)); }
};

}  // namespace trtmc::cpu::avx2
