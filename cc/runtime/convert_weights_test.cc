// Casts against PyTorch and NumPy, exhaustively where the source has 16 bits. The golden file:
//   python cc/runtime/testdata/make_conversions.py > cc/runtime/testdata/conversions.json
#include "cc/runtime/convert_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "cc/bundle/sha256.h"

namespace trtmc {
namespace {

const nlohmann::json& golden() {
  static const nlohmann::json value =
      nlohmann::json::parse(std::ifstream("cc/runtime/testdata/conversions.json"));
  return value;
}

// Every NaN counts as one.
std::uint32_t canonical(std::uint32_t bits) {
  return (bits & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FC00000u : bits;
}
std::uint16_t canonical(std::uint16_t bits, DType dtype) {
  const std::uint16_t infinity = dtype == DType::kFloat16 ? 0x7C00 : 0x7F80;
  const std::uint16_t nan = dtype == DType::kFloat16 ? 0x7E00 : 0x7FC0;
  return (bits & 0x7FFF) > infinity ? nan : bits;
}

template <class To, class From>
std::string digest(const std::vector<From>& source, DType from, DType to) {
  std::vector<To> result(source.size());
  convert_weights(source.data(), from, result.data(), to, source.size());
  for (To& bits : result) {
    if constexpr (sizeof(To) == 4) {
      bits = canonical(bits);
    } else {
      bits = canonical(bits, to);
    }
  }
  return bundle::to_hex(bundle::sha256(std::as_bytes(std::span(result))));
}

// A string: gcc 14 finds no `==` between one and a JSON value.
std::string want(const char* digest) { return golden()["digests"][digest].get<std::string>(); }

std::vector<std::uint16_t> every_16_bits() {
  std::vector<std::uint16_t> all(65536);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  return all;
}

TEST(ConvertWeights, EveryHalf) {
  const auto all = every_16_bits();
  EXPECT_EQ(digest<std::uint32_t>(all, DType::kFloat16, DType::kFloat32), want("float16 float32"));
  EXPECT_EQ(digest<std::uint16_t>(all, DType::kFloat16, DType::kBFloat16), want("float16 bfloat16"));
  EXPECT_EQ(digest<std::uint32_t>(all, DType::kBFloat16, DType::kFloat32), want("bfloat16 float32"));
  EXPECT_EQ(digest<std::uint16_t>(all, DType::kBFloat16, DType::kFloat16), want("bfloat16 float16"));
}

TEST(ConvertWeights, SinglesOfEveryUpperHalf) {
  std::vector<std::uint32_t> singles;
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    for (std::uint32_t lower : golden()["lower_halves"]) singles.push_back(upper << 16 | lower);
  }
  EXPECT_EQ(digest<std::uint16_t>(singles, DType::kFloat32, DType::kFloat16),
            want("float32 float16"));
  EXPECT_EQ(digest<std::uint16_t>(singles, DType::kFloat32, DType::kBFloat16),
            want("float32 bfloat16"));
}

TEST(ConvertWeights, TiesSubnormalsInfinities) {
  for (const auto& row : golden()["float32_cases"]) {
    const std::uint32_t bits = row[0];
    EXPECT_EQ(canonical(float16_of_float32(bits), DType::kFloat16), row[1]) << std::hex << bits;
    EXPECT_EQ(canonical(bfloat16_of_float32(bits), DType::kBFloat16), row[2]) << std::hex << bits;
  }
}

TEST(ConvertWeights, ANanStaysANan) {
  EXPECT_EQ(float16_of_float32(0x7F800001), 0x7E00);  // cut to ten bits, it would be an infinity
  EXPECT_EQ(float16_of_float32(0xFFFFFFFF), 0xFE00);
  EXPECT_EQ(bfloat16_of_float32(0x7F800001) & 0x7FFF, 0x7FC0);
  EXPECT_EQ(bfloat16_of_float32(0x7FFFFFFF) & 0x7FFF, 0x7FFF);  // rounded up, it would be -0
  EXPECT_GT(float32_of_float16(0x7C01), 0x7F800000u);
}

TEST(ConvertWeights, AnyCountAndNothingBehind) {
  const std::vector<std::uint16_t> source(64, 0x3F80);
  for (std::size_t count = 0; count < 40; ++count) {
    std::vector<std::uint32_t> target(64, 0xAAAAAAAA);
    convert_weights(source.data(), DType::kBFloat16, target.data(), DType::kFloat32, count);
    EXPECT_EQ(std::count(target.begin(), target.end(), 0x3F800000u), std::ptrdiff_t(count));
    EXPECT_EQ(std::count(target.begin(), target.end(), 0xAAAAAAAAu), std::ptrdiff_t(64 - count));
  }
}

TEST(ConvertWeights, OnlyFloatsOfAtLeast16Bits) {
  EXPECT_TRUE(can_convert(DType::kFloat16, DType::kBFloat16));
  EXPECT_TRUE(can_convert(DType::kFloat32, DType::kFloat32));
  EXPECT_FALSE(can_convert(DType::kInt8, DType::kFloat32));
  EXPECT_FALSE(can_convert(DType::kFloat16, DType::kFloat8E4M3));
}

}  // namespace
}  // namespace trtmc
