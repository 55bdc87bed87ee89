#include "cc/bundle/verified_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cc/bundle/sample_bundle.h"

namespace trtmc::bundle {
namespace {

constexpr FileIdentity kFile{1, 2, 3, 4, 5};

int mode_of(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? static_cast<int>(status.st_mode & 0777) : -1;
}

TEST(VerifiedCache, RemembersOneSectionOfOneFile) {
  Scratch scratch;
  const VerifiedCache cache(scratch.path("trtmc/verified"));
  EXPECT_FALSE(cache.contains("id", "a", kFile));
  cache.add("id", "a", kFile);
  EXPECT_TRUE(cache.contains("id", "a", kFile));
  EXPECT_FALSE(cache.contains("id", "b", kFile));
  EXPECT_FALSE(cache.contains("other", "a", kFile));
  for (FileIdentity other : {FileIdentity{9, 2, 3, 4, 5}, FileIdentity{1, 9, 3, 4, 5},
                             FileIdentity{1, 2, 9, 4, 5}, FileIdentity{1, 2, 3, 9, 5},
                             FileIdentity{1, 2, 3, 4, 9}}) {
    EXPECT_FALSE(cache.contains("id", "a", other));
  }
}

TEST(VerifiedCache, FoldersArePrivate) {
  Scratch scratch;
  const auto old = ::umask(0);
  VerifiedCache(scratch.path("trtmc/verified")).add("id", "a", kFile);
  ::umask(old);
  EXPECT_EQ(mode_of(scratch.path("trtmc")), 0700);
  EXPECT_EQ(mode_of(scratch.path("trtmc/verified")), 0700);
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path("trtmc/verified"))) {
    EXPECT_EQ(mode_of(entry.path()), 0600);
  }
}

TEST(VerifiedCache, IgnoresAFolderThatOthersCanEnter) {
  Scratch scratch;
  const std::string folder = scratch.path("verified");
  const VerifiedCache cache(folder);
  cache.add("id", "a", kFile);
  ASSERT_TRUE(cache.contains("id", "a", kFile));
  for (unsigned mode : {0755u, 0770u, 0701u, 0777u}) {
    ASSERT_EQ(::chmod(folder.c_str(), mode), 0);
    EXPECT_FALSE(cache.contains("id", "a", kFile)) << mode;
    cache.add("id", "b", kFile);
  }
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  EXPECT_TRUE(cache.contains("id", "a", kFile));
  EXPECT_FALSE(cache.contains("id", "b", kFile)) << "a stamp was written into an open folder";
}

TEST(VerifiedCache, IgnoresASymbolicLink) {
  Scratch scratch;
  VerifiedCache(scratch.path("real")).add("id", "a", kFile);
  std::filesystem::create_symlink(scratch.path("real"), scratch.path("link"));
  EXPECT_FALSE(VerifiedCache(scratch.path("link")).contains("id", "a", kFile));
}

TEST(VerifiedCache, DoesNotBelieveAnAlteredStamp) {
  Scratch scratch;
  const VerifiedCache cache(scratch.path("verified"));
  cache.add("id", "a", kFile);
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path("verified"))) {
    std::filesystem::resize_file(entry.path(), 10);
  }
  EXPECT_FALSE(cache.contains("id", "a", kFile));
  cache.add("id", "a", kFile);
  EXPECT_TRUE(cache.contains("id", "a", kFile));
}

TEST(VerifiedCache, WritesNothingForAFileThatJustChanged) {
  Scratch scratch;
  const VerifiedCache cache(scratch.path("verified"));
  FileIdentity fresh = kFile;
  struct timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  fresh.ctime_ns = std::int64_t{now.tv_sec + 3600} * 1'000'000'000;
  cache.add("id", "a", fresh);
  EXPECT_FALSE(cache.contains("id", "a", fresh));
}

TEST(VerifiedCache, ForgetsWithoutAFolder) {
  const VerifiedCache cache("");
  cache.add("id", "a", kFile);
  EXPECT_FALSE(cache.contains("id", "a", kFile));
}

TEST(VerifiedCache, UsesTheCacheHome) {
  Scratch scratch;
  ::setenv("XDG_CACHE_HOME", scratch.path("xdg").c_str(), 1);
  VerifiedCache::for_user().add("id", "a", kFile);
  EXPECT_TRUE(std::filesystem::is_directory(scratch.path("xdg/trtmc/verified")));
  ::setenv("XDG_CACHE_HOME", "relative", 1);  // must be ignored, as the XDG rules say
  ::setenv("HOME", scratch.path("home").c_str(), 1);
  std::filesystem::create_directory(scratch.path("home"));
  VerifiedCache::for_user().add("id", "a", kFile);
  EXPECT_TRUE(std::filesystem::is_directory(scratch.path("home/.cache/trtmc/verified")));
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  VerifiedCache::for_user().add("id", "a", kFile);
  EXPECT_FALSE(VerifiedCache::for_user().contains("id", "a", kFile));
}

}  // namespace
}  // namespace trtmc::bundle
