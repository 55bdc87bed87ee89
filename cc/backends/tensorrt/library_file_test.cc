// Which file is TensorRT: by exact name, in the folders given, of the one version that fits.
#include "cc/backends/tensorrt/library_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace trtmc::tensorrt {
namespace {

namespace fs = std::filesystem;

TargetInfo target(const std::string& version, const std::string& compiler = "tensorrt_rtx") {
  return {"sm_89", compiler, version, "13.0", "8.9", "linux", "x86_64"};
}

class LibraryFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "first");
    fs::create_directories(folder_ / "second");
    ::chmod((folder_ / "second").c_str(), 0755);
  }
  void install(const std::string& name) {
    const char* built = std::getenv("TRTMC_FAKE_TENSORRT");
    const fs::path to = folder_ / "second" / name;
    fs::copy_file(built ? built : "cc/backends/tensorrt/testing/libfake_tensorrt.so", to);
    ::chmod(to.c_str(), 0755);
  }
  Result<LibraryFile> open(const TargetInfo& of) {
    return LibraryFile::open(of, {(folder_ / "first").string(), (folder_ / "second").string()});
  }
  fs::path folder_;
};

TEST_F(LibraryFileTest, Versions) {
  EXPECT_EQ(parse_version("1.7.1.116")->text(), "1.7.1");
  EXPECT_EQ(parse_version("11.4.0")->text(), "11.4.0");
  EXPECT_EQ(decode_version(10701).text(), "1.7.1");
  EXPECT_EQ(decode_version(110400).text(), "11.4.0");
  for (const char* bad : {"", "1", "1.7", "1.7.", "a.b.c", "1.7.1x", "1..2", "-.1.1"}) {
    EXPECT_EQ(parse_version(bad).status().code(), "backend.bad_version") << bad;
  }
}

TEST_F(LibraryFileTest, ExactNames) {
  EXPECT_EQ(library_soname("tensorrt_rtx", {1, 7, 1}), "libtensorrt_rtx.so.1");
  EXPECT_EQ(library_soname("tensorrt", {11, 4, 0}), "libnvinfer.so.11");
  EXPECT_FALSE(library_folders().empty());
  for (const std::string& folder : library_folders()) EXPECT_EQ(folder[0], '/') << folder;
}

TEST_F(LibraryFileTest, FindsTheLibraryInALaterFolder) {
  install("libtensorrt_rtx.so.1");
  const auto file = open(target("1.7.1.116"));
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_EQ(file->version().text(), "1.7.1");
  EXPECT_EQ(file->path(), (folder_ / "second/libtensorrt_rtx.so.1").string());
  EXPECT_EQ(file->create_runtime()(nullptr, 0), nullptr);
}

TEST_F(LibraryFileTest, MissingLibrary) {
  const Status status = open(target("11.4.0.106", "tensorrt")).status();
  EXPECT_EQ(status.code(), "backend.missing_library");
  EXPECT_EQ(status.exit_code(), 6);
  for (const std::string& word : {std::string("TensorRT 11.4.0"), std::string("libnvinfer.so.11"),
                                  (folder_ / "first").string(), (folder_ / "second").string()}) {
    EXPECT_NE(status.message().find(word), std::string_view::npos) << status.message();
  }
}

TEST_F(LibraryFileTest, AnotherVersion) {
  install("libtensorrt_rtx.so.1");
  const Status status = open(target("1.8.0")).status();
  EXPECT_EQ(status.code(), "backend.wrong_library");
  EXPECT_EQ(status.exit_code(), 6);
  for (const char* word : {"is version 1.7.1", "TensorRT-RTX 1.8.0", "libtensorrt_rtx.so.1"}) {
    EXPECT_NE(status.message().find(word), std::string_view::npos) << status.message();
  }
}

TEST_F(LibraryFileTest, NoLibraryAtAll) {
  std::ofstream(folder_ / "second/libtensorrt_rtx.so.1") << "text";
  EXPECT_EQ(open(target("1.7.1")).status().code(), "backend.missing_library");
  fs::copy_file(fs::canonical("/proc/self/exe"), folder_ / "second/libnvinfer.so.11");
  EXPECT_EQ(open(target("11.0.0", "tensorrt")).status().exit_code(), 6);
}

TEST_F(LibraryFileTest, AnyoneMayChangeIt) {
  install("libtensorrt_rtx.so.1");
  ::chmod((folder_ / "second").c_str(), 0777);
  EXPECT_EQ(open(target("1.7.1")).status().code(), "load.unsafe_dso");
}

TEST_F(LibraryFileTest, TheEnvironmentTakesNoPart) {
  install("libtensorrt_rtx.so.1");
  ::setenv("LD_LIBRARY_PATH", (folder_ / "second").c_str(), 1);
  const fs::path before = fs::current_path();
  fs::current_path(folder_ / "second");
  const auto file = LibraryFile::open(target("1.7.1"), {(folder_ / "first").string()});
  fs::current_path(before);
  EXPECT_EQ(file.status().code(), "backend.missing_library");
}

}  // namespace
}  // namespace trtmc::tensorrt
