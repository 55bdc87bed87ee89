#include "cc/runtime/elf_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "cc/runtime/library_folder.h"

namespace trtmc {
namespace {

std::vector<char> own_bytes() {
  std::ifstream file(own_file().value(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<ElfNames> names_of(const std::vector<char>& bytes) {
  return elf_names({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}

TEST(ElfNames, ListsTheLibrariesOfThisProgram) {
  const auto names = elf_names_of(own_file().value()).value().needed;
  EXPECT_NE(std::find(names.begin(), names.end(), "libc.so.6"), names.end());
}

TEST(ElfNames, OtherFilesAreErrors) {
  EXPECT_EQ(names_of({}).status().code(), "dso.bad_elf");
  EXPECT_EQ(names_of({'\x7f', 'E', 'L', 'F'}).status().code(), "dso.bad_elf");
  EXPECT_EQ(elf_names_of("/etc/passwd").status().code(), "dso.bad_elf");
  EXPECT_EQ(elf_names_of("/no/such/file").status().code(), "dso.unreadable");
}

TEST(ElfNames, CutAndDamagedFilesNeverReadOutside) {
  const std::vector<char> whole = own_bytes();
  std::mt19937 rng(3);
  for (int i = 0; i < 300; ++i) {
    std::vector<char> bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(
                                                               rng() % (whole.size() / 50)));
    (void)names_of(bytes).is_ok();
  }
  std::vector<char> bytes = whole;
  for (int i = 0; i < 2000; ++i) {
    const std::size_t at = rng() % 1024;
    const char kept = bytes[at];
    bytes[at] = static_cast<char>(rng());
    (void)names_of(bytes).is_ok();
    bytes[at] = kept;
  }
  EXPECT_TRUE(names_of(bytes).is_ok());
}

}  // namespace
}  // namespace trtmc
