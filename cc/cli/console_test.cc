#include "cc/cli/console.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cc/cli/npy.h"

namespace trtmc::cli {
namespace {

std::string found(std::string_view text) {
  const Status status = check_utf8(text, "x");
  if (status.is_ok()) return "ok";
  EXPECT_EQ(status.code(), "text.invalid_utf8");
  EXPECT_EQ(status.exit_code(), 3);
  return std::string(status.message().substr(0, status.message().find(" is not")));
}

TEST(Utf8, GoodText) {
  EXPECT_EQ(found(""), "ok");
  EXPECT_EQ(found("a\0b"), "ok");
  EXPECT_EQ(found("é 한 😀 \xEF\xBF\xBD"), "ok");
  EXPECT_EQ(found("\xF4\x8F\xBF\xBF"), "ok");  // U+10FFFF
}

TEST(Utf8, BadTextNamesTheByte) {
  EXPECT_EQ(found("abc\xff"), "x: byte 3 (0xff)");
  EXPECT_EQ(found("\xC0\x80"), "x: byte 0 (0xc0)");         // overlong NUL
  EXPECT_EQ(found("é\xE0\x80\x80"), "x: byte 2 (0xe0)");    // overlong
  EXPECT_EQ(found("\xED\xA0\x80"), "x: byte 0 (0xed)");     // surrogate
  EXPECT_EQ(found("\xF4\x90\x80\x80"), "x: byte 0 (0xf4)");  // above U+10FFFF
  EXPECT_EQ(found("ab\xF0\x9F\x98"), "x: byte 2 (0xf0)");   // cut off
  EXPECT_EQ(found("\x80"), "x: byte 0 (0x80)");
}

TEST(Process, ClockAndMemoryAreThere) {
  const double first = seconds_since_process_start();
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 3600);
  EXPECT_GE(seconds_since_process_start(), first);
  EXPECT_GT(peak_memory(), 1u << 20);
}

TEST(ReadText, WholeFileOrAnError) {
  EXPECT_EQ(read_text("/no/such/file").status().code(), "cli.unreadable");
  EXPECT_EQ(read_text("/tmp").status().code(), "cli.unreadable");
}

TEST(Npy, BytesOfASmallFile) {
  const char* tmp = std::getenv("TEST_TMPDIR");
  const auto path = std::filesystem::path(tmp ? tmp : "/tmp") / "console_test.npy";
  const float data[6] = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(write_npy(path.string(), data, 2, 3).is_ok());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const std::string begin("\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, "
                          "'shape': (2, 3), }", 68);
  EXPECT_EQ(bytes.size(), 128u + sizeof data);
  EXPECT_EQ(bytes.substr(0, begin.size()), begin);
  EXPECT_EQ(bytes[127], '\n');
  std::filesystem::remove(path);
  EXPECT_EQ(write_npy("/no/such/folder/x.npy", data, 2, 3).code(), "cli.unwritable");
}

}  // namespace
}  // namespace trtmc::cli
