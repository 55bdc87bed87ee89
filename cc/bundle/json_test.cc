#include "cc/bundle/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trtmc::bundle {
namespace {

using nlohmann::json;

std::string verdict(std::string_view text) {
  return std::string(decode_canonical(text).status().code());
}

TEST(Json, DoublesAreSpelledAsPythonDoes) {
  const auto spell = [](double value) { return encode_canonical(json(value)); };
  EXPECT_EQ(spell(0.0), "0.0");
  EXPECT_EQ(spell(-0.0), "-0.0");
  EXPECT_EQ(spell(1.0), "1.0");
  EXPECT_EQ(spell(0.1), "0.1");
  EXPECT_EQ(spell(2.0 / 3), "0.6666666666666666");
  EXPECT_EQ(spell(1e-4), "0.0001");
  EXPECT_EQ(spell(9.999e-5), "9.999e-05");
  EXPECT_EQ(spell(1e-7), "1e-07");
  EXPECT_EQ(spell(1e15), "1000000000000000.0");
  EXPECT_EQ(spell(9007199254740993.0), "9007199254740992.0");
  EXPECT_EQ(spell(1e16), "1e+16");
  EXPECT_EQ(spell(1.5e300), "1.5e+300");
  EXPECT_EQ(spell(5e-324), "5e-324");
  EXPECT_EQ(spell(-123.456), "-123.456");
}

TEST(Json, StringsEscapeTheLeast) {
  EXPECT_EQ(encode_canonical(json(std::string("\"\\/\b\t\n\f\r\x01\x1f\x7f\0é", 14))),
            "\"\\\"\\\\/\\b\\t\\n\\f\\r\\u0001\\u001f\x7f\\u0000é\"");
}

TEST(Json, KeysAreSortedAndSpacesAbsent) {
  const json value = {{"b", {1, true, nullptr}}, {"a", json::object()}, {"ä", json::array()}};
  EXPECT_EQ(encode_canonical(value), R"({"a":{},"b":[1,true,null],"ä":[]})");
}

TEST(Json, DecodesWhatItEncodes) {
  for (const char* text : {"{}", "[]", "null", "-5", "0.5", R"({"a":{"b":[1,2.0]}})", R"("\u0000")",
                           "-9223372036854775808", "9223372036854775807"}) {
    const auto value = decode_canonical(text);
    ASSERT_TRUE(value.is_ok()) << value.status().message();
    EXPECT_EQ(encode_canonical(*value), text);
  }
}

TEST(Json, NamesTheBrokenRule) {
  EXPECT_EQ(verdict(""), "bundle.header_json");
  EXPECT_EQ(verdict("{} "), "bundle.header_not_canonical");
  EXPECT_EQ(verdict("{}x"), "bundle.header_json");
  EXPECT_EQ(verdict("\xef\xbb\xbf{}"), "bundle.header_json");
  EXPECT_EQ(verdict("9223372036854775808"), "bundle.header_json");
  EXPECT_EQ(verdict("1e999"), "bundle.header_json");
  EXPECT_EQ(verdict("1.50"), "bundle.header_not_canonical");
  EXPECT_EQ(verdict(R"({"a":1,"a":1})"), "bundle.duplicate_key");
  EXPECT_EQ(verdict(R"({"a":1,"a":1)"), "bundle.header_json");
  EXPECT_EQ(verdict(R"({"b":1,"a":1})"), "bundle.header_not_canonical");
  EXPECT_EQ(verdict(R"({"a":{"a":1}})"), "ok");
}

TEST(Json, DepthIsBoundedBeforeParsing) {
  EXPECT_EQ(verdict(std::string(32, '[') + std::string(32, ']')), "ok");
  EXPECT_EQ(verdict(std::string(33, '[') + std::string(33, ']')), "bundle.header_depth");
  EXPECT_EQ(verdict(std::string(10'000'000, '[')), "bundle.header_depth");
  EXPECT_EQ(verdict("\"" + std::string(100, '[') + "\\\"" + std::string(100, '{') + "\""), "ok");
}

TEST(Json, DuplicateKeyIsNamed) {
  EXPECT_NE(decode_canonical(R"({"size":1,"size":2})").status().message().find("\"size\""),
            std::string_view::npos);
}

}  // namespace
}  // namespace trtmc::bundle
