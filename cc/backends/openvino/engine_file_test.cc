// One test per rule of the engine file.
#include "cc/backends/openvino/engine_file.h"

#include <gtest/gtest.h>

#include "cc/backends/openvino/testing_model.h"

namespace trtmc::openvino {
namespace {

testing::AlignedBytes good() {
  testing::ModelText text;
  text.parameter("x", "f32", "?");
  text.raw(testing::random_bytes(100, 1, 1), "f32", "100");
  return text.engine();
}

template <class T>
void poke(testing::AlignedBytes& file, std::size_t offset, T value) {
  std::memcpy(file.data() + offset, &value, sizeof(T));
}

// The file with one field changed must be refused, and the message must hold `hint`.
template <class T>
void expect_refused(std::size_t offset, T value, const char* hint) {
  auto file = good();
  poke(file, offset, value);
  const auto parsed = parse_engine_file(file.span());
  ASSERT_FALSE(parsed.is_ok()) << hint;
  EXPECT_EQ(parsed.status().code(), "backend.bad_engine");
  EXPECT_NE(parsed.status().message().find(hint), std::string_view::npos)
      << parsed.status().message();
}

TEST(EngineFileTest, ReadsAGoodFile) {
  auto file = good();
  const auto parsed = parse_engine_file(file.span());
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().message();
  EXPECT_EQ(parsed->xml.substr(0, 6), "<?xml ");
  EXPECT_EQ(parsed->weights.size(), 448u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parsed->weights.data()) % 64, 0u);
}

TEST(EngineFileTest, RefusesEachBadField) {
  expect_refused<char>(0, 'X', "TRTMCOVE");
  expect_refused<std::uint32_t>(8, 2, "version 2");
  expect_refused<std::uint32_t>(12, 1, "flags 1");
  expect_refused<std::uint64_t>(16, 0, "XML");
  expect_refused<std::uint64_t>(16, ~std::uint64_t{0}, "XML");
  expect_refused<std::uint64_t>(24, 0, "XML");
  expect_refused<std::uint64_t>(24, ~std::uint64_t{0} - 4096, "XML");
  expect_refused<std::uint64_t>(32, 0, "weights");
  expect_refused<std::uint64_t>(32, 8193, "weights");
  expect_refused<std::uint64_t>(32, std::uint64_t{1} << 63, "weights");
  expect_refused<std::uint64_t>(40, 449, "weights");
  expect_refused<std::uint64_t>(40, ~std::uint64_t{0}, "weights");
  expect_refused<std::uint64_t>(32, 4096, "overlap");
  expect_refused<char>(48, 1, "not zero");
  expect_refused<char>(4095, 1, "not zero");
}

TEST(EngineFileTest, RefusesEveryCut) {
  auto file = good();
  for (std::size_t size = 0; size < file.span().size(); size += size < 5000 ? 61 : 7) {
    EXPECT_EQ(parse_engine_file(file.span().first(size)).status().code(), "backend.bad_engine")
        << size;
  }
}

TEST(EngineFileTest, RefusesMisalignedMemory) {
  auto file = good();
  testing::AlignedBytes shifted(file.span().size() + 8);
  std::memcpy(shifted.data() + 8, file.data(), file.span().size());
  EXPECT_EQ(parse_engine_file(shifted.span().subspan(8)).status().code(), "backend.misaligned");
}

}  // namespace
}  // namespace trtmc::openvino
