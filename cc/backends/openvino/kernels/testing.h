// Random inputs for the kernel tests and benchmarks: fixed seeds, every weight type.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "cc/backends/openvino/kernels/table.h"

namespace trtmc::cpu::testing {

// A matrix as stored, and the exact values that its bytes stand for.
struct Matrix {
  std::vector<std::byte> bytes;
  std::vector<float> values;
};

inline float half_value(std::uint16_t h) {
  const int exponent = (h >> 10) & 31, mantissa = h & 0x3FF;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -24)
                              : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (h & 0x8000) ? -magnitude : magnitude;
}

inline std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 gen(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(count);
  for (float& x : v) x = normal(gen);
  return v;
}

inline Matrix random_matrix(WeightType type, int n, int k, unsigned seed) {
  std::mt19937 gen(seed);
  std::normal_distribution<float> normal(0.0f, 0.05f);
  const std::size_t count = static_cast<std::size_t>(n) * static_cast<std::size_t>(k);
  Matrix m;
  m.bytes.resize(count * weight_bytes(type));
  m.values.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const float value = normal(gen);
    if (type == WeightType::kF32) {
      m.values[i] = value;
      std::memcpy(&m.bytes[i * 4], &value, 4);
      continue;
    }
    std::uint16_t bits = 0;
    if (type == WeightType::kBF16) {
      bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
      m.values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    } else {
      // Any float16 near the wanted size; some are subnormal.
      int exponent = 0;
      const float fraction = std::frexp(std::abs(value), &exponent);
      const int biased = exponent + 14;
      const auto mantissa = static_cast<std::uint16_t>(std::lround((fraction * 2 - 1) * 1023));
      bits = static_cast<std::uint16_t>((value < 0 ? 0x8000 : 0) |
                                        (biased > 0 ? (biased << 10) | mantissa : mantissa));
      m.values[i] = half_value(bits);
    }
    std::memcpy(&m.bytes[i * 2], &bits, 2);
  }
  return m;
}

}  // namespace trtmc::cpu::testing
