// From a bundle file to an answer through real DSOs, and one sentence for each thing that can be
// wrong on the way.
#include "trtmc/load.h"

#include <gtest/gtest.h>

#include <fstream>

#include "cc/gpu/machine.h"
#include "cc/testing/bundle_file.h"
#include "cc/testing/runtime_root_fixture.h"

namespace trtmc {
namespace {

using testing::BundleParts;
using testing::TableModel;

class LoadTest : public testing::RuntimeRootTest {
 protected:
  void SetUp() override {
    RuntimeRootTest::SetUp();
    install("libtrtmc_model_toy.so");
    install("libtrtmc_backend_table.so");
    install("libtoy_dependency.so");
    parts_.model = TableModel::path(26, {0, 1, 2, 3, 4, 5});
    parts_.limits = {1, 32, 32};
  }

  std::string bundle() {
    const std::string path = (root_ / "x.bundle").string();
    EXPECT_TRUE(testing::write_bundle_file(path, parts_).is_ok());
    return path;
  }
  LoadOptions options() {
    LoadOptions options;
    options.runtime_root = root_.string();
    return options;
  }
  // Loads and expects this failure with all these words in its sentence.
  void expect_failure(std::string_view code, int exit_code, std::vector<std::string> words) {
    auto loaded = load(bundle(), options());
    ASSERT_FALSE(loaded.is_ok());
    const Status& status = loaded.status();
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_EQ(status.exit_code(), exit_code);
    for (const std::string& word : words) {
      EXPECT_NE(status.message().find(word), std::string_view::npos)
          << word << " is not in: " << status.message();
    }
  }

  BundleParts parts_;
};

TEST_F(LoadTest, AnswersThroughTheDsos) {
  auto loaded = load_task<TextGeneration>(bundle(), options());
  ASSERT_TRUE(loaded.is_ok()) << loaded.status().message();
  const std::vector<std::int32_t> prompt = {0};
  const auto result = loaded->task->generate(prompt, {.max_new_tokens = 4}, {}).value();
  EXPECT_EQ(result.ids, (std::vector<std::int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(loaded->task->text(), nullptr);
  EXPECT_EQ(loaded->pipeline->header().runtime_strategy, "toy_decoder");
}

TEST_F(LoadTest, TwoPipelinesLiveSideBySide) {
  auto a = std::move(load(bundle(), options())).value();
  auto b = std::move(load(bundle(), options())).value();
  const std::vector<std::int32_t> prompt = {0};
  a.reset();
  EXPECT_EQ(b->text_generation()->generate(prompt, {.max_new_tokens = 1}, {}).value().ids[0], 1);
}

TEST_F(LoadTest, SmallerCacheOnRequest) {
  LoadOptions small = options();
  small.max_sequence = 5;
  auto loaded = load_task<TextGeneration>(bundle(), small);
  EXPECT_EQ(loaded->task->info().max_sequence, 5);
  small.max_sequence = 33;
  EXPECT_EQ(load(bundle(), small).status().code(), "decoder.bad_capacity");
}

TEST_F(LoadTest, UnknownStrategy) {
  parts_.strategy = "banana_decoder";
  expect_failure("load.unknown_strategy", 6, {"banana_decoder", "toy", "x.bundle"});
  parts_.strategy = "toy_other";  // the library exists, but serves something else
  expect_failure("load.unknown_strategy", 6, {"toy_other", "toy_decoder"});
}

TEST_F(LoadTest, MissingModelLibrary) {
  std::filesystem::remove(library("libtrtmc_model_toy.so"));
  expect_failure("load.unknown_strategy", 6, {"toy_decoder", root_.string(), "none"});
}

TEST_F(LoadTest, MissingBackend) {
  std::filesystem::remove(library("libtrtmc_backend_table.so"));
  expect_failure("load.missing_dso", 6, {"libtrtmc_backend_table.so", root_.string()});
}

TEST_F(LoadTest, DependencyThatAnotherCouldReplace) {
  install("libnameless_dependency.so", "libtoy_dependency.so");
  expect_failure("load.unsafe_dso", 6, {"libtoy_dependency.so", "soname", "LD_LIBRARY_PATH"});
}

TEST_F(LoadTest, MissingLibraryFolder) {
  std::filesystem::remove_all(root_ / "lib");
  expect_failure("load.no_library_folder", 6, {"--runtime-root", "lib/trtmc"});
}

TEST_F(LoadTest, LibraryOfAnotherRelease) {
  install("libtrtmc_model_old.so");
  parts_.strategy = "old_decoder";
  expect_failure("dso.abi_mismatch", 6, {"libtrtmc_model_old.so", "trtmc_abi is 77", "expected 2"});
}

TEST_F(LoadTest, LibraryWithoutTheSymbol) {
  install("libtrtmc_model_odd.so");
  parts_.strategy = "odd_decoder";
  expect_failure("dso.no_symbol", 6, {"libtrtmc_model_odd.so", "trtmc_model_v1"});
}

TEST_F(LoadTest, LibraryThatIsNone) {
  std::ofstream(library("libtrtmc_model_toy.so"), std::ios::trunc) << "no library";
  expect_failure("dso.bad_elf", 6, {"libtrtmc_model_toy.so", "ELF"});
}

TEST_F(LoadTest, LibraryThatAnyoneMayChange) {
  ::chmod(library("libtrtmc_model_toy.so").c_str(), 0757);
  expect_failure("load.unsafe_dso", 6, {"libtrtmc_model_toy.so", "chmod o-w"});
  ::chmod(library("libtrtmc_model_toy.so").c_str(), 0755);
  ::chmod((root_ / "lib/trtmc").c_str(), 0777);
  expect_failure("load.unsafe_dso", 6, {"lib/trtmc", "chmod o-w"});
}

TEST_F(LoadTest, TargetOfAnotherMachine) {
  parts_.target.arch = "riscv64";
  expect_failure("load.wrong_target", 5, {"riscv64", "table"});
}

TEST_F(LoadTest, TargetThatTheBackendDoesNotServe) {
  parts_.target.name = "other";
  expect_failure("target.mismatch", 5, {"other", "table"});
}

TEST_F(LoadTest, GpuTargetWithoutADriver) {
  if (find_gpus().driver) GTEST_SKIP() << "this machine has the driver";
  parts_.target = {"sm_89", "tensorrt_rtx", "1.7.1", "13.0", "8.9", "linux", "x86_64"};
  expect_failure("load.wrong_target", 5,
                 {"target sm_89 needs an NVIDIA GPU of compute capability 8.9; no driver found"});
}

TEST_F(LoadTest, AFatBundleRunsWhereItCan) {
  if (::access("/dev/nvidiactl", F_OK) == 0) GTEST_SKIP() << "this machine has the driver";
  parts_.more_targets = {{"sm_89", "tensorrt_rtx", "1.7.1", "13.0", "8.9", "linux", "x86_64"},
                         {"rtx_portable", "tensorrt_rtx", "1.7.1", "13.0", {}, "linux", "x86_64"}};
  auto loaded = load(bundle(), options());
  ASSERT_TRUE(loaded.is_ok()) << loaded.status().message();
  EXPECT_EQ((*loaded)->target().name, "table");
  EXPECT_EQ((*loaded)->header().targets.size(), 3u);
  LoadOptions named = options();
  named.target = "sm_89";
  EXPECT_EQ(load(bundle(), named).status().code(), "load.wrong_target");
  named.target = "sm_90";
  EXPECT_EQ(load(bundle(), named).status().code(), "load.unknown_target");
  parts_.target.arch = "riscv64";
  expect_failure("load.no_target", 5,
                 {"sm_89, rtx_portable, table", "capability 8.9; no driver found", "riscv64"});
}

TEST_F(LoadTest, CorruptSection) {
  const std::string path = bundle();
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(0, std::ios::end);
  file.seekp(static_cast<std::streamoff>(file.tellg()) - 4096);  // first byte of the only section
  file.put('?');
  file.close();
  auto loaded = load(path, options());
  ASSERT_FALSE(loaded.is_ok());
  EXPECT_EQ(loaded.status().exit_code(), 3);
  EXPECT_NE(loaded.status().message().find("engines/llm.engine"), std::string_view::npos)
      << loaded.status().message();
  LoadOptions full = options();
  full.verify = Verify::kFull;
  EXPECT_EQ(load(path, full).status().code(), loaded.status().code());
}

TEST_F(LoadTest, NoSuchBundle) {
  auto loaded = load((root_ / "none.bundle").string(), options());
  EXPECT_EQ(loaded.status().exit_code(), 3);
  EXPECT_NE(loaded.status().message().find("none.bundle"), std::string_view::npos);
}

TEST_F(LoadTest, OptionsOutOfRange) {
  LoadOptions bad = options();
  for (const int threads : {-1, 1025, 100000}) {
    bad.threads = threads;
    EXPECT_EQ(load(bundle(), bad).status().code(), "load.bad_option") << threads;
  }
  bad = options();
  bad.device = -1;
  EXPECT_EQ(load(bundle(), bad).status().code(), "load.bad_option");
  bad.device = 3;  // of what runs on the CPU
  const Status status = load(bundle(), bad).status();
  EXPECT_EQ(status.code(), "load.bad_option");
  EXPECT_NE(status.message().find("GPU 3 was asked for, but the engine for target table runs on the CPU"),
            std::string_view::npos)
      << status.message();
}

}  // namespace
}  // namespace trtmc
