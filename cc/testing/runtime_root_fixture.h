// A runtime root in the test's own folder, made from the toy DSOs that Bazel built.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace trtmc::testing {

class RuntimeRootTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* tmp = std::getenv("TEST_TMPDIR");
    root_ = std::filesystem::path(tmp ? tmp : "/tmp") /
            ("root-" + std::to_string(::getpid()) + "-" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(root_ / "lib/trtmc");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // Puts a toy DSO from cc/testing into the root, under its own or another name.
  void install(const std::string& file, const std::string& as = "") {
    const char* override_dir = std::getenv("TRTMC_TEST_DSOS");
    const std::filesystem::path from = override_dir ? override_dir : "cc/testing";
    const auto to = library(as.empty() ? file : as);
    std::filesystem::copy_file(from / file, to,
                               std::filesystem::copy_options::overwrite_existing);
    ::chmod(to.c_str(), 0755);
  }
  std::filesystem::path library(const std::string& file) { return root_ / "lib/trtmc" / file; }

  std::filesystem::path root_;
};

}  // namespace trtmc::testing
