// The cache of what was compiled at run time: the same bytes back, or none.
#include "cc/backends/tensorrt/jit_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace trtmc::tensorrt {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

const JitKey kKey = {"0123", "engines/llm", "GPU 8.9", "580.1", "1.7.1"};
const Bytes kCode = {std::byte{1}, std::byte{2}, std::byte{0}, std::byte{4}};

struct JitCacheTest : ::testing::Test {
  void SetUp() override {
    folder = (fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name())
                 .string();
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  std::string folder;
};

TEST_F(JitCacheTest, GivesBackWhatWasKept) {
  const JitCache cache(folder, kKey);
  EXPECT_TRUE(cache.read().empty());
  cache.write(kCode);
  EXPECT_EQ(cache.read(), kCode);
  EXPECT_EQ(JitCache(folder, kKey).read(), kCode);
  struct stat info;
  ASSERT_EQ(::stat(cache.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  cache.write({kCode.data(), 2});
  EXPECT_EQ(cache.read(), Bytes(kCode.begin(), kCode.begin() + 2));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(JitCacheTest, EachPartOfTheKeyCounts) {
  JitCache(folder, kKey).write(kCode);
  for (std::string JitKey::*part : {&JitKey::bundle, &JitKey::section, &JitKey::gpu,
                                    &JitKey::driver, &JitKey::library}) {
    JitKey other = kKey;
    other.*part += "x";
    EXPECT_TRUE(JitCache(folder, other).read().empty());
  }
}

TEST_F(JitCacheTest, ADamagedFileIsNone) {
  const JitCache cache(folder, kKey);
  cache.write(kCode);
  const auto size = fs::file_size(cache.path());
  for (std::uintmax_t at = 0; at < size; ++at) {
    cache.write({kCode.data(), 1});
    cache.write(kCode);
    std::fstream file(cache.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put('\x7f');
    file.close();
    EXPECT_TRUE(cache.read().empty()) << at;
  }
  for (const std::uintmax_t length : {std::uintmax_t{0}, size / 2, size - 1}) {
    cache.write({kCode.data(), 1});
    cache.write(kCode);
    fs::resize_file(cache.path(), length);
    EXPECT_TRUE(cache.read().empty()) << length;
  }
}

TEST_F(JitCacheTest, NeverAnError) {
  const JitCache none("", kKey);
  none.write(kCode);
  EXPECT_TRUE(none.read().empty());
  const JitCache missing(folder + "/no/such/folder", kKey);
  missing.write(kCode);
  EXPECT_TRUE(missing.read().empty());
  const JitCache cache(folder, kKey);
  cache.write({});
  EXPECT_FALSE(fs::exists(cache.path()));
  fs::create_directories(cache.path());
  cache.write(kCode);
  EXPECT_TRUE(cache.read().empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace trtmc::tensorrt
