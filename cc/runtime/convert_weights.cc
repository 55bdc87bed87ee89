#include "cc/runtime/convert_weights.h"

#include <bit>
#include <cstring>

namespace trtmc {
namespace {

constexpr std::uint32_t kInfinity32 = 0x7F800000;
constexpr std::uint32_t kBiasDifference = std::uint32_t{127 - 15} << 23;

inline std::uint32_t widen_float16(std::uint16_t half) {
  const std::uint32_t magnitude = half & 0x7FFFu;
  // Subnormals are whole multiples of 2^-24; a product of normal numbers, so flags do not matter.
  const auto small = std::bit_cast<std::uint32_t>(
      static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  const std::uint32_t normal = (magnitude << 13) + kBiasDifference;
  const std::uint32_t special = (magnitude << 13) | kInfinity32;
  std::uint32_t bits = magnitude < 0x0400u ? small : normal;
  bits = magnitude >= 0x7C00u ? special : bits;
  return bits | (static_cast<std::uint32_t>(half & 0x8000u) << 16);
}

inline std::uint16_t narrow_to_float16(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  const std::uint32_t shifted = magnitude - kBiasDifference;
  const std::uint32_t normal = (shifted + 0x0FFFu + ((shifted >> 13) & 1u)) >> 13;
  // Next to 0.5 the last place is 2^-24, the smallest float16: the sum rounds as it should.
  const float small_sum = std::bit_cast<float>(magnitude) + 0.5f;
  const std::uint32_t small = std::bit_cast<std::uint32_t>(small_sum) - 0x3F000000u;
  std::uint32_t half = magnitude < 0x38800000u ? small : normal;  // 2^-14
  half = magnitude >= 0x477FF000u ? 0x7C00u : half;               // 65520, halfway to 2^16
  half = magnitude > kInfinity32 ? 0x7E00u : half;
  return static_cast<std::uint16_t>(half | ((bits >> 16) & 0x8000u));
}

inline std::uint16_t narrow_to_bfloat16(std::uint32_t bits) {
  const std::uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t nan = (bits >> 16) | 0x0040u;
  return static_cast<std::uint16_t>((bits & 0x7FFFFFFFu) > kInfinity32 ? nan : rounded);
}

template <DType kType>
struct Element;
template <>
struct Element<DType::kFloat32> {
  using Storage = std::uint32_t;
  static std::uint32_t wide(Storage bits) { return bits; }
  static Storage narrow(std::uint32_t bits) { return bits; }
};
template <>
struct Element<DType::kFloat16> {
  using Storage = std::uint16_t;
  static std::uint32_t wide(Storage bits) { return widen_float16(bits); }
  static Storage narrow(std::uint32_t bits) { return narrow_to_float16(bits); }
};
template <>
struct Element<DType::kBFloat16> {
  using Storage = std::uint16_t;
  static std::uint32_t wide(Storage bits) { return static_cast<std::uint32_t>(bits) << 16; }
  static Storage narrow(std::uint32_t bits) { return narrow_to_bfloat16(bits); }
};

template <DType kFrom, DType kTo>
void loop(const void* source, void* target, std::size_t count) {
  using From = typename Element<kFrom>::Storage;
  using To = typename Element<kTo>::Storage;
  if constexpr (kFrom == kTo) {
    std::memcpy(target, source, count * sizeof(From));
  } else {
    const From* __restrict from = static_cast<const From*>(source);
    To* __restrict to = static_cast<To*>(target);
    for (std::size_t i = 0; i < count; ++i) to[i] = Element<kTo>::narrow(Element<kFrom>::wide(from[i]));
  }
}

using Loop = void (*)(const void*, void*, std::size_t);

template <DType kFrom>
Loop loop_to(DType to) {
  switch (to) {
    case DType::kFloat32: return loop<kFrom, DType::kFloat32>;
    case DType::kFloat16: return loop<kFrom, DType::kFloat16>;
    case DType::kBFloat16: return loop<kFrom, DType::kBFloat16>;
    default: return nullptr;
  }
}

Loop loop_of(DType from, DType to) {
  switch (from) {
    case DType::kFloat32: return loop_to<DType::kFloat32>(to);
    case DType::kFloat16: return loop_to<DType::kFloat16>(to);
    case DType::kBFloat16: return loop_to<DType::kBFloat16>(to);
    default: return nullptr;
  }
}

}  // namespace

bool can_convert(DType from, DType to) { return loop_of(from, to) != nullptr; }

void convert_weights(const void* source, DType from, void* target, DType to, std::size_t count) {
  if (const Loop convert = loop_of(from, to)) convert(source, target, count);
}

std::uint32_t float32_of_float16(std::uint16_t half) { return widen_float16(half); }
std::uint16_t float16_of_float32(std::uint32_t bits) { return narrow_to_float16(bits); }
std::uint16_t bfloat16_of_float32(std::uint32_t bits) { return narrow_to_bfloat16(bits); }

}  // namespace trtmc
