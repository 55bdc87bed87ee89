#include "cc/runtime/registry.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "cc/runtime/library_folder.h"

namespace trtmc {
namespace {

TEST(ModelName, LongestBeginningOfTheStrategyWins) {
  const std::vector<std::string> libraries = {"llama", "qwen", "qwen_vl"};
  EXPECT_EQ(model_name_of("llama_decoder_kv_cache", libraries), "llama");
  EXPECT_EQ(model_name_of("qwen_vl_decoder", libraries), "qwen_vl");
  EXPECT_EQ(model_name_of("qwen_decoder", libraries), "qwen");
  EXPECT_EQ(model_name_of("llamas_decoder", libraries), "");
  EXPECT_EQ(model_name_of("llama", libraries), "");
  EXPECT_EQ(model_name_of("", libraries), "");
}

TEST(BackendName, OfTheCompiler) {
  TargetInfo target;
  for (const auto& [compiler, backend] : {std::pair{"openvino", "openvino"},
                                          {"tensorrt_rtx", "tensorrt"},
                                          {"tensorrt", "tensorrt"},
                                          {"table", "table"}}) {
    target.compiler = compiler;
    EXPECT_EQ(backend_name_of(target), backend);
  }
}

TEST(Names, FromABundleNeverLeaveTheFolder) {
  Registry registry("/nonexistent");
  EXPECT_EQ(registry.plugin("../../tmp/evil_decoder").status().code(), "load.unknown_strategy");
  TargetInfo target;
  target.compiler = "../../tmp/evil";
  EXPECT_EQ(registry.backend(target).status().code(), "load.bad_header");
}

TEST(OwnFile, IsAnAbsolutePathOfAFile) {
  const std::string self = own_file().value();
  EXPECT_EQ(self.front(), '/');
  EXPECT_TRUE(std::filesystem::is_regular_file(self)) << self;
}

TEST(Abi, FirstDifferenceIsNamed) {
  EXPECT_TRUE(check_abi(current_abi()).is_ok());
  TrtmcAbi other = current_abi();
  other.cxx11_abi = 0;
  EXPECT_EQ(check_abi(other).code(), "dso.abi_mismatch");
  EXPECT_NE(check_abi(other).message().find("cxx11_abi is 0, expected 1"), std::string_view::npos);
  other = current_abi();
  other.compiler = 2;  // gcc and clang share the ABI
  EXPECT_TRUE(check_abi(other).is_ok());
}

}  // namespace
}  // namespace trtmc
