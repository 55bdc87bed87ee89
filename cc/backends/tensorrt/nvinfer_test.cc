// TensorRT-RTX's own library behind the narrow interface, as far as that goes without a GPU: it is
// found, its version is read, a runtime is made, and what it refuses becomes a Status.
#include "cc/backends/tensorrt/nvinfer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace trtmc::tensorrt {
namespace {

namespace fs = std::filesystem;

Result<LibraryFile> rtx() {
  const char* path = std::getenv("TENSORRT_RTX_LIBRARY");
  if (path == nullptr) return internal_error("test", "set TENSORRT_RTX_LIBRARY");
  const fs::path real = fs::canonical(path);
  const TargetInfo target = {"sm_89", "tensorrt_rtx", "1.7.1.116", "13.0",
                             "8.9",   "linux",        "x86_64"};
  return LibraryFile::open(target, {real.parent_path().string()});
}

TEST(NvInferTest, OpensTensorRtRtx) {
  const auto file = rtx();
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_EQ(file->version().text(), "1.7.1");
  const auto library = open_library(*file);
  ASSERT_TRUE(library.is_ok()) << library.status().message();
  EXPECT_EQ((*library)->version(), "1.7.1");
  EXPECT_FALSE(header_version().empty());
}

TEST(NvInferTest, RefusesWhatIsNoPlanWithTheLibrarysReason) {
  const auto file = rtx();
  ASSERT_TRUE(file.is_ok());
  const auto library = open_library(*file);
  const std::vector<std::byte> junk(4096, std::byte{1});
  for (const std::span<const std::byte> bytes :
       {std::span<const std::byte>(junk), std::span<const std::byte>(junk).first(3)}) {
    const auto plan = (*library)->deserialize(bytes, {});
    ASSERT_FALSE(plan.is_ok());
    EXPECT_EQ(plan.status().code(), "backend.bad_engine");
    EXPECT_EQ(plan.status().exit_code(), 3);
    EXPECT_NE(plan.status().message().find("TensorRT 1.7.1 does not take the engine"),
              std::string_view::npos);
    EXPECT_EQ(plan.status().message().find("gives no reason"), std::string_view::npos)
        << plan.status().message();
  }
}

}  // namespace
}  // namespace trtmc::tensorrt
