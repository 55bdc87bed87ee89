// Vectors of 4 floats in plain C++ (SSE2 on any x86-64). Included only by isa_portable.cc.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace trtmc::cpu::portable {

typedef float Vec __attribute__((vector_size(16)));
inline constexpr int kWidth = 4;
inline constexpr int kGemmRows = 4;
inline constexpr int kGemmVecs = 2;
inline constexpr int kAttendRows = 4;
inline constexpr int kAttendVecs = 2;
inline constexpr int kGemvRows = 4;

inline Vec zero() { return Vec{0, 0, 0, 0}; }
inline Vec splat(float x) { return Vec{x, x, x, x}; }
inline Vec load(const float* p) {
  Vec v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
inline Vec load_n(const float* p, int n) {
  Vec v = zero();
  for (int i = 0; i < n; ++i) v[i] = p[i];
  return v;
}
inline void store(float* p, Vec v) { std::memcpy(p, &v, sizeof(v)); }
inline void store_n(float* p, Vec v, int n) {
  for (int i = 0; i < n; ++i) p[i] = v[i];
}
inline Vec add(Vec a, Vec b) { return a + b; }
inline Vec sub(Vec a, Vec b) { return a - b; }
inline Vec mul(Vec a, Vec b) { return a * b; }
inline Vec div(Vec a, Vec b) { return a / b; }
inline Vec max(Vec a, Vec b) { return a > b ? a : b; }
inline Vec min(Vec a, Vec b) { return a < b ? a : b; }
inline Vec fma(Vec a, Vec b, Vec c) { return a * b + c; }
inline Vec nfma(Vec a, Vec b, Vec c) { return c - a * b; }
inline Vec round(Vec a) {
  const Vec magic = splat(12582912.0f);  // 1.5 · 2^23: rounds |a| < 2^22 to an integer
  return (a + magic) - magic;
}
inline Vec scale2(Vec a, Vec n) {
  Vec out;
  for (int i = 0; i < kWidth; ++i) {
    const int whole = static_cast<int>(n[i]), half = whole >> 1;
    out[i] = a[i] * std::bit_cast<float>((half + 127) << 23) *
             std::bit_cast<float>((whole - half + 127) << 23);
  }
  return out;
}
inline Vec zero_below(Vec value, Vec x, Vec limit) { return x < limit ? zero() : value; }
inline float sum(Vec v) { return (v[0] + v[2]) + (v[1] + v[3]); }
inline float max_of(Vec v) { return std::max(std::max(v[0], v[2]), std::max(v[1], v[3])); }

inline float f16_to_f32(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000) << 16;
  const std::uint32_t exponent = (h >> 10) & 31, mantissa = h & 0x3FF;
  if (exponent == 0) {  // zero or subnormal: mantissa · 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

template <class Decode>
inline Vec load_u16_n(const void* p, int n, Decode decode) {
  std::uint16_t u[kWidth] = {};
  std::memcpy(u, p, static_cast<std::size_t>(n) * 2);
  return Vec{decode(u[0]), decode(u[1]), decode(u[2]), decode(u[3])};
}

struct F16 {
  static constexpr std::size_t kBytes = 2;
  static Vec load(const void* p) { return load_n(p, kWidth); }
  static Vec load_n(const void* p, int n) { return load_u16_n(p, n, f16_to_f32); }
};
struct BF16 {
  static constexpr std::size_t kBytes = 2;
  static Vec load(const void* p) { return load_n(p, kWidth); }
  static Vec load_n(const void* p, int n) {
    return load_u16_n(p, n, [](std::uint16_t h) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16);
    });
  }
};
struct F32 {
  static constexpr std::size_t kBytes = 4;
  static Vec load(const void* p) { return portable::load(static_cast<const float*>(p)); }
  static Vec load_n(const void* p, int n) {
    return portable::load_n(static_cast<const float*>(p), n);
  }
};

}  // namespace trtmc::cpu::portable
