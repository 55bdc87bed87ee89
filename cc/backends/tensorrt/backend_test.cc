// What the backend says when something does not fit, and in which order it asks: driver, library,
// device, plan.
#include "cc/backends/tensorrt/backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "cc/backends/tensorrt/testing/rig.h"
#include "cc/decoder/decoder.h"

namespace trtmc::tensorrt {
namespace {

using testing::Rig;
using trtmc::testing::TableModel;

struct BackendTest : ::testing::Test {
  Rig rig{TableModel::hashing(31), {2, 64, 32}};

  std::string refused(std::string_view code, int exit_code) {
    const auto engine = rig.load();
    EXPECT_FALSE(engine.is_ok());
    EXPECT_EQ(engine.status().code(), code) << engine.status().message();
    EXPECT_EQ(engine.status().exit_code(), exit_code);
    EXPECT_NE(engine.status().message().find("section \"engines/llm\""), std::string_view::npos);
    return std::string(engine.status().message());
  }
  void expect_words(const std::string& text, std::initializer_list<const char*> words) {
    for (const char* word : words) {
      EXPECT_NE(text.find(word), std::string::npos) << word << " is not in: " << text;
    }
  }
};

TEST_F(BackendTest, DescribesItself) {
  EXPECT_EQ(rig.backend().name(), "tensorrt");
  EXPECT_EQ(rig.backend().version(), "11.1.0");
  auto engine = rig.load();
  ASSERT_TRUE(engine.is_ok()) << engine.status().message();
  const MemoryReport memory = (*engine)->memory();
  EXPECT_EQ(memory.weights, rig.plan.size());
  EXPECT_GT(memory.per_session, 8192u);
  EXPECT_EQ(memory.available, rig.memory);
}

TEST_F(BackendTest, ALibraryThatIsMissingIsToldBeforeAnEngineIsTouched) {
  EXPECT_TRUE(rig.backend().check_target(testing::kSm89).is_ok());
  Rig without(rig.model);
  without.library_status = missing_component("backend.missing_library", "no libtensorrt_rtx.so.1");
  const Status status = without.backend().check_target(testing::kSm89);
  EXPECT_EQ(status.code(), "backend.missing_library");
  EXPECT_EQ(status.exit_code(), 6);
}

TEST_F(BackendTest, ChecksTheTargetWithTheDriverFirst) {
  rig.machine.gpus[0].major = 9;
  rig.machine.gpus[0].minor = 0;
  const Status status = rig.backend().check_target(testing::kSm89);
  EXPECT_EQ(status.exit_code(), 5);
  expect_words(std::string(status.message()),
               {"compute capability 8.9", "GPU 0 (Fake GPU) has 9.0"});
  expect_words(refused("load.wrong_target", 5), {"8.9", "9.0"});
  rig.machine = {};
  EXPECT_TRUE(refused("load.wrong_target", 5).ends_with("8.9; no driver found"));
  TargetInfo cpu = testing::kSm89;
  cpu.compiler = "openvino";
  EXPECT_EQ(rig.backend().check_target(cpu).code(), "backend.target_mismatch");
  EXPECT_EQ(rig.library->take(), "") << "TensorRT was asked nothing";
  EXPECT_EQ(rig.device, nullptr) << "nor CUDA";
}

TEST_F(BackendTest, TheLibrarysOwnRefusalIsPassedOn) {
  rig.library_status = missing_component("backend.missing_library", "no libtensorrt_rtx.so.1");
  expect_words(refused("backend.missing_library", 6), {"libtensorrt_rtx.so.1"});
}

TEST_F(BackendTest, BytesThatAreNoPlan) {
  rig.plan = std::vector<std::byte>(100);
  rig.blob.bytes = rig.plan;
  const auto engine = rig.backend().load(rig.blob, rig.contract, rig.options);
  EXPECT_EQ(engine.status().code(), "backend.bad_engine");
  EXPECT_EQ(engine.status().exit_code(), 3);
}

TEST_F(BackendTest, APlanThatIsNotTheContracts) {
  const Contract good = rig.facts.contract;
  const auto expect_mismatch = [&](std::initializer_list<const char*> words) {
    expect_words(refused("backend.contract_mismatch", 3), words);
    rig.facts.contract = good;
    rig.facts.on_host.clear();
  };
  rig.facts.contract.inputs[0].dtype = DType::kInt32;
  expect_mismatch({"\"input_ids\" is int32 [-1, -1] in the engine, int64 [batch, sequence]"});
  rig.facts.contract.inputs[5].shape[2] = std::int64_t{32};
  expect_mismatch({"\"k_cache_0\"", "[-1, 1, 32, 1]", "[batch, 1, 64, 1]"});
  rig.facts.contract.inputs[0].shape[1] = std::int64_t{1};
  expect_mismatch({"\"input_ids\""});
  rig.facts.contract.inputs.erase(rig.facts.contract.inputs.begin() + 3);
  expect_mismatch({"it has no input \"kv_lengths\""});
  rig.facts.contract.outputs[0].name = "scores";
  expect_mismatch({"it has no output \"logits\""});
  rig.facts.contract.outputs.push_back({"more", DType::kFloat32, {std::int64_t{1}}});
  expect_mismatch({"output \"more\", which the contract lacks"});
  rig.facts.contract.profiles.pop_back();
  expect_mismatch({"it has 1 profiles, the contract 2"});
  rig.facts.contract.profiles[0].dims["sequence"].max = 16;
  expect_mismatch({"profile \"context\" promises 1 to 32 for \"sequence\""});
  rig.facts.on_host = {"kv_lengths"};
  expect_mismatch({"\"kv_lengths\" is a shape tensor"});
}

// A dimension that no profile lets vary may be a number in the plan.
TEST_F(BackendTest, APlanThatStatesTheOnlySizeOfADimension) {
  Rig one{TableModel::hashing(31), {1, 64, 32}};
  for (auto* specs : {&one.facts.contract.inputs, &one.facts.contract.outputs}) {
    for (TensorSpec& spec : *specs) {
      std::replace(spec.shape.begin(), spec.shape.end(), Dim("batch"), Dim(std::int64_t{1}));
    }
  }
  auto engine = one.load();
  ASSERT_TRUE(engine.is_ok()) << engine.status().message();
  auto decoder = Decoder::create(one.backend().allocator(), **engine, {});
  EXPECT_TRUE(decoder->append(std::vector<std::int32_t>{1, 2, 3}, {}).is_ok());
  one.facts.contract.inputs[0].shape[0] = std::int64_t{2};
  EXPECT_EQ(one.load().status().code(), "backend.contract_mismatch");
}

TEST_F(BackendTest, ExternalWeights) {
  std::vector<float> scale = {1, 2, 3}, table(64, 5);
  const Tensor scales = Tensor::of(scale.data(), {3}), tables = Tensor::of(table.data(), {8, 8});
  rig.facts.weights = {{"scale", scales}, {"table", tables}};
  expect_words(refused("backend.missing_weight", 3), {"\"scale\""});
  rig.blob.weights = {{"scale", scales}, {"table", scales}};
  expect_words(refused("backend.contract_mismatch", 3),
               {"weight \"table\" is float32 [8, 8] in the engine, float32 [3] in the bundle"});
  rig.blob.weights = {{"scale", scales}, {"table", tables}, {"spare", scales}};
  expect_words(refused("backend.contract_mismatch", 3), {"it has no weight \"spare\""});

  rig.blob.weights = {{"scale", scales}, {"table", tables}};
  rig.device_log->take();
  auto engine = rig.load();
  ASSERT_TRUE(engine.is_ok()) << engine.status().message();
  EXPECT_EQ(rig.device_log->take(), "copy_to_device 12; copy_to_device 256; synchronize");
  EXPECT_EQ((*engine)->memory().weights, rig.plan.size() + 512);
  // Two sessions with two contexts each see the same memory, and it is the weights'.
  void* at = nullptr;
  for (int session = 0; session < 2; ++session) {
    auto decoder = Decoder::create(rig.backend().allocator(), **engine, {});
    ASSERT_TRUE(decoder->append(std::vector<std::int32_t>{1, 2}, {}).is_ok());
    ASSERT_TRUE(decoder->append(std::vector<std::int32_t>{3}, {}).is_ok());
    void* const table_at = rig.library->addresses.at("table");
    EXPECT_EQ(std::memcmp(table_at, table.data(), 256), 0);
    EXPECT_EQ(std::memcmp(rig.library->addresses.at("scale"), scale.data(), 12), 0);
    EXPECT_TRUE(at == nullptr || at == table_at);
    at = table_at;
  }
  EXPECT_EQ(rig.device_log->violations, 0);
}

TEST_F(BackendTest, TooLittleMemoryForTheEngine) {
  rig.model = TableModel::path(31, {1, 2});
  rig.memory = 1000;
  expect_words(refused("backend.out_of_memory", 7),
               {"needs 0.0 MB of device memory", "is free on GPU 0 (Fake GPU)", "--device"});
  EXPECT_EQ(rig.library->take(), "") << "nothing was taken";
}

TEST_F(BackendTest, TooLittleMemoryForASession) {
  rig.facts.scratch_bytes = 3000000000;
  auto engine = rig.load();
  ASSERT_TRUE(engine.is_ok());
  const auto session = (*engine)->create_session();
  EXPECT_EQ(session.status().code(), "backend.out_of_memory");
  EXPECT_EQ(session.status().exit_code(), 7);
  expect_words(std::string(session.status().message()),
               {"a session needs 6.0 GB of device memory", "1.1 GB of 1.1 GB is free",
                "lower max_sequence or the batch"});
  EXPECT_EQ(rig.device->used(), 0u);
}

TEST_F(BackendTest, TooLittleMemoryForTheCache) {
  auto engine = rig.load();
  ASSERT_TRUE(engine.is_ok());
  const auto tensor = rig.backend().allocator().allocate(DType::kFloat16, {1, 8, 1 << 20, 128});
  EXPECT_EQ(tensor.status().code(), "backend.out_of_memory");
  expect_words(
      std::string(tensor.status().message()),
      {"[1, 8, 1048576, 128] needs 2.1 GB", "1.1 GB of 1.1 GB", "lower max_sequence or the batch"});
  // The decoder asks before it takes: the first of the two caches would have fitted.
  Rig small{TableModel::hashing(31), {1, 4096, 8}};
  small.memory = 33 << 10;
  small.facts.scratch_bytes = 256;
  auto little = small.load();
  ASSERT_TRUE(little.is_ok()) << little.status().message();
  const auto decoder = Decoder::create(small.backend().allocator(), **little, {});
  EXPECT_EQ(decoder.status().code(), "decoder.out_of_memory");
  EXPECT_EQ(decoder.status().exit_code(), 7);
  expect_words(std::string(decoder.status().message()),
               {"4096 rows for a batch of 1", "lower max_sequence (about 39"});
  EXPECT_EQ(small.device->used(), 0u);
  for (const Shape& bad : {Shape{-1}, Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}}) {
    EXPECT_EQ(rig.backend().allocator().allocate(DType::kInt8, bad).status().code(),
              "backend.out_of_memory");
  }
  EXPECT_TRUE(rig.backend().allocator().allocate(DType::kInt8, {0, 4}).is_ok());
}

TEST_F(BackendTest, RefusesBadBindings) {
  auto engine = rig.load();
  auto session = (*engine)->create_session();
  std::vector<std::int64_t> ids(80);
  std::vector<float> floats(64);
  EXPECT_EQ((*session)->run().code(), "backend.unbound_input");
  EXPECT_EQ((*session)->bind("tokens", Tensor::of(ids.data(), {1, 4})).code(),
            "backend.bad_binding");
  EXPECT_EQ((*session)->bind("k_cache_0", Tensor::of(floats.data(), {1, 1, 64, 1})).code(),
            "backend.bad_binding")
      << "state in host memory";
  auto cache = rig.backend().allocator().allocate(DType::kFloat32, {1, 1, 64, 1});
  Tensor elsewhere = cache->view();
  elsewhere.device = 1;
  EXPECT_EQ((*session)->bind("k_cache_0", elsewhere).code(), "backend.bad_binding");
  EXPECT_TRUE((*session)->bind("k_cache_0", cache->view()).is_ok());
  EXPECT_EQ((*session)->set_profile("other").code(), "backend.unknown_profile");
  EXPECT_EQ((*session)->output("logits").status().code(), "backend.no_output");
}

TEST_F(BackendTest, SizesOutsideTheProfile) {
  auto engine = rig.load();
  auto decoder = Decoder::create(rig.backend().allocator(), **engine, {});
  auto session = (*engine)->create_session();
  std::vector<std::int64_t> ids(33), rows(1);
  std::vector<std::int32_t> at(1), length(1, 33);
  ASSERT_TRUE(decoder->cache().bind(**session).is_ok());
  ASSERT_TRUE((*session)->bind("input_ids", Tensor::of(ids.data(), {1, 33})).is_ok());
  ASSERT_TRUE((*session)->bind("position_ids", Tensor::of(ids.data(), {1, 33})).is_ok());
  ASSERT_TRUE((*session)->bind("write_indices", Tensor::of(at.data(), {1})).is_ok());
  ASSERT_TRUE((*session)->bind("kv_lengths", Tensor::of(length.data(), {1})).is_ok());
  ASSERT_TRUE((*session)->bind("logit_rows", Tensor::of(rows.data(), {1})).is_ok());
  const Status status = (*session)->run();
  EXPECT_EQ(status.code(), "backend.outside_profile");
  expect_words(std::string(status.message()), {"\"sequence\" is 33", "\"context\" allows 1 to 32"});
}

TEST_F(BackendTest, AnotherCacheDropsTheGraph) {
  auto engine = rig.load();
  auto decoder = Decoder::create(rig.backend().allocator(), **engine, {});
  const std::vector<std::int32_t> one = {1};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(decoder->append(one, {}).is_ok());
  EXPECT_EQ(rig.device->graphs(), 1u);
  // A second decoder has its own session, cache and graph.
  auto other = Decoder::create(rig.backend().allocator(), **engine, {});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(other->append(one, {}).is_ok());
  EXPECT_EQ(rig.device->graphs(), 2u);
  EXPECT_NE(other->cache().tensor(0).data, decoder->cache().tensor(0).data);
  EXPECT_EQ(rig.device_log->violations, 0);
}

TEST_F(BackendTest, OneGpuPerBackend) {
  ASSERT_TRUE(rig.load().is_ok());
  rig.machine.gpus.push_back({1, "Second", 8, 9, 1 << 30});
  rig.options.device = 1;
  expect_words(refused("backend.second_gpu", 2), {"GPU 0", "GPU 1"});
  rig.options.device = 2;
  expect_words(refused("load.wrong_target", 5), {"there is no GPU 2"});
}

TEST_F(BackendTest, NamedComputeIsNotForGpus) {
  rig.options.compute = "bf16";
  expect_words(refused("backend.unknown_compute", 4), {"bf16", "--compute"});
}

TEST_F(BackendTest, KeepsWhatTheLibraryCompiled) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "backend_test_jit";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  rig.options.cache_dir = folder.string();
  ASSERT_TRUE(rig.load().is_ok());  // destroyed at once: it writes
  EXPECT_EQ(rig.library->take(), "deserialize jit 0");
  ASSERT_TRUE(rig.load().is_ok());
  EXPECT_EQ(rig.library->take(), "deserialize jit 2");
  rig.machine.driver_version = "580.2";
  ASSERT_TRUE(rig.load().is_ok());
  EXPECT_EQ(rig.library->take(), "deserialize jit 0") << "another driver, another key";
  rig.blob.bundle = "4567";
  ASSERT_TRUE(rig.load().is_ok());
  EXPECT_EQ(rig.library->take(), "deserialize jit 0") << "another bundle";
}

}  // namespace
}  // namespace trtmc::tensorrt
