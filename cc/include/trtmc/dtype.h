// Element types of tensors: the names that contracts use, and their width in bits.
//
// Knows nothing of arithmetic on them. Sub-byte types are packed low bits first, and a row of
// them always starts at a byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trtmc {

// The numbers cross the DSO border; append only.
enum class DType : std::uint8_t {
  kFloat32 = 0,
  kFloat16 = 1,
  kBFloat16 = 2,
  kInt64 = 3,
  kInt32 = 4,
  kInt8 = 5,
  kUInt8 = 6,
  kBool = 7,
  kFloat8E4M3 = 8,
  kInt4 = 9,
  kFloat4E2M1 = 10,
  kFloat8E8M0 = 11,
};

struct DTypeInfo {
  std::string_view name;  // as written in contracts
  int bits;               // storage of one element
};

inline constexpr std::array<DTypeInfo, 12> kDTypes = {{
    {"float32", 32},
    {"float16", 16},
    {"bfloat16", 16},
    {"int64", 64},
    {"int32", 32},
    {"int8", 8},
    {"uint8", 8},
    {"bool", 8},
    {"float8_e4m3", 8},
    {"int4", 4},
    {"float4_e2m1", 4},
    {"float8_e8m0", 8},
}};

constexpr std::string_view dtype_name(DType dtype) {
  return kDTypes[static_cast<std::size_t>(dtype)].name;
}

constexpr int dtype_bits(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].bits; }

constexpr std::optional<DType> parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// Maps a C++ element type to its DType, for the types that C++ itself has.
template <class T>
struct dtype_of;
template <> struct dtype_of<float> { static constexpr DType value = DType::kFloat32; };
template <> struct dtype_of<std::int64_t> { static constexpr DType value = DType::kInt64; };
template <> struct dtype_of<std::int32_t> { static constexpr DType value = DType::kInt32; };
template <> struct dtype_of<std::int8_t> { static constexpr DType value = DType::kInt8; };
template <> struct dtype_of<std::uint8_t> { static constexpr DType value = DType::kUInt8; };
template <> struct dtype_of<bool> { static constexpr DType value = DType::kBool; };

}  // namespace trtmc
