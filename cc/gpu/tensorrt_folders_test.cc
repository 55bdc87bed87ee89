#include "cc/gpu/tensorrt_folders.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace trtmc {
namespace {

TEST(TensorrtFolders, TheBackendsOwnComesFirst) {
  EXPECT_EQ(tensorrt_folders("/opt/x").front(), "/opt/x");
  EXPECT_EQ(tensorrt_folders("").front(), "/usr/lib/x86_64-linux-gnu");
}

TEST(TensorrtFolders, FindsTheNamesThatAreOpenedAndNoOthers) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "tensorrt";
  std::filesystem::create_directories(folder);
  for (const char* name : {"libtensorrt_rtx.so.1", "libnvinfer.so", "libnvinfer.so.11.4.0",
                           "libnvinfer_plugin.so.11"}) {
    std::ofstream(folder / name) << "x";
  }
  EXPECT_EQ(find_tensorrt({folder.string(), "/no/such/folder"}),
            std::vector<std::string>{(folder / "libtensorrt_rtx.so.1").string()});
}

}  // namespace
}  // namespace trtmc
