// The backend DSO through its public border: load, bind, run, both ways of running, bad input.
//
// TRTMC_BACKEND_FILES names the DSO first, then the libraries that belong beside it. They are
// linked into one folder, as they are installed: OpenVINO looks for its parts where it lies.

#include "trtmc/backend.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <sstream>

#include "cc/backends/openvino/testing_model.h"

namespace trtmc::openvino {
namespace {

using testing::TinyDecoder;

std::filesystem::path install() {
  namespace fs = std::filesystem;
  const char* files = std::getenv("TRTMC_BACKEND_FILES");
  if (files == nullptr) return {};
  const fs::path folder = fs::path(::testing::TempDir()) / "backend_test_lib";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::path dso;
  std::istringstream names(files);
  for (std::string name; names >> name;) {
    const fs::path link = folder / fs::path(name).filename();
    fs::create_symlink(fs::canonical(name), link);
    if (dso.empty()) dso = link;
  }
  return dso;
}

const TrtmcBackendV1* border() {
  static const TrtmcBackendV1* const found = [] {
    void* dso = dlopen(install().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (dso == nullptr) {
      ADD_FAILURE() << "set TRTMC_BACKEND_FILES: " << dlerror();
      std::abort();
    }
    return reinterpret_cast<TrtmcBackendV1Fn>(dlsym(dso, TRTMC_BACKEND_SYMBOL))();
  }();
  return found;
}

Backend& backend() {
  static Backend* const instance = [] {
    Backend* made = nullptr;
    Status error;
    if (!border()->create(&made, &error)) std::abort();
    return made;
  }();
  return *instance;
}

Result<std::unique_ptr<Engine>> load(const testing::AlignedBytes& file, const Contract& contract,
                                     const std::string& compute = "", int threads = 2) {
  return backend().load({file.span(), "llm", "id", nullptr}, contract, {threads, compute, "", 0});
}

// Feeds a session and keeps what it is bound to.
struct Runner {
  explicit Runner(Session& of, int batch = 1) : session(of) {
    for (const char* name : {"k_cache_0", "v_cache_0"}) {
      auto made = backend().allocator().allocate(DType::kFloat32, {batch, 1, 16, 4});
      caches.push_back(*std::move(made));
      EXPECT_TRUE(session.bind(name, caches.back().view()).is_ok());
    }
  }

  Status feed(std::vector<std::int64_t> ids, int at, int batch = 1) {
    this->ids = std::move(ids);
    const auto tokens = static_cast<std::int64_t>(this->ids.size()) / batch;
    positions.clear();
    for (int b = 0; b < batch; ++b) {
      for (std::int64_t t = 0; t < tokens; ++t) positions.push_back(at + t);
    }
    write.assign(static_cast<size_t>(batch), at);
    length.assign(static_cast<size_t>(batch), at + static_cast<int>(tokens));
    rows.resize(this->ids.size());
    std::iota(rows.begin(), rows.end(), 0);
    TRTMC_RETURN_IF_ERROR(session.bind("input_ids", Tensor::of(this->ids.data(), {batch, tokens})));
    TRTMC_RETURN_IF_ERROR(
        session.bind("position_ids", Tensor::of(positions.data(), {batch, tokens})));
    TRTMC_RETURN_IF_ERROR(session.bind("write_indices", Tensor::of(write.data(), {batch})));
    TRTMC_RETURN_IF_ERROR(session.bind("kv_lengths", Tensor::of(length.data(), {batch})));
    TRTMC_RETURN_IF_ERROR(session.bind("logit_rows", Tensor::of(rows.data(), {batch * tokens})));
    return session.run();
  }

  std::vector<float> logits() {
    const auto out = session.output("logits");
    EXPECT_TRUE(out.is_ok()) << out.status().message();
    const auto values = out->as<float>();
    return {values.begin(), values.end()};
  }

  Session& session;
  std::vector<DeviceTensor> caches;
  std::vector<std::int64_t> ids, positions, rows;
  std::vector<std::int32_t> write, length;
};

void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5f) << i;
}

TEST(BackendTest, BorderStructDescribesItself) {
  EXPECT_EQ(border()->struct_size, sizeof(TrtmcBackendV1));
  EXPECT_TRUE(check_abi(border()->abi).is_ok());
  EXPECT_STREQ(border()->name, "openvino");
  EXPECT_EQ(backend().name(), "openvino");
  EXPECT_FALSE(backend().version().empty());
}

TEST(BackendTest, ChecksTheTarget) {
  TargetInfo target{"cpu_x86_64", "openvino", "2026.4.1", {}, {}, "linux", "x86_64"};
  EXPECT_TRUE(backend().check_target(target).is_ok());
  target = {"sm_89", "tensorrt_rtx", "1.7.1", "13.0", "8.9", "linux", "x86_64"};
  const Status status = backend().check_target(target);
  EXPECT_EQ(status.exit_class(), ExitClass::kTargetMismatch);
  EXPECT_NE(status.message().find("sm_89"), std::string_view::npos);
}

TEST(BackendTest, OwnExecutorAndOpenVinoAgree) {
  const TinyDecoder direct, mixed(true);
  const auto direct_file = direct.text.engine(), mixed_file = mixed.text.engine();
  auto a = load(direct_file, direct.contract), b = load(mixed_file, mixed.contract);
  ASSERT_TRUE(a.is_ok()) << a.status().message();
  ASSERT_TRUE(b.is_ok()) << b.status().message();
  auto sa = (*a)->create_session(), sb = (*b)->create_session();
  ASSERT_TRUE(sb.is_ok()) << sb.status().message();
  Runner ra(**sa), rb(**sb);
  for (const auto& [ids, at] : std::vector<std::pair<std::vector<std::int64_t>, int>>{
           {{1, 5, 9, 2}, 0}, {{3}, 4}, {{7, 7}, 5}}) {
    ASSERT_TRUE(ra.feed(ids, at).is_ok());
    const Status status = rb.feed(ids, at);
    ASSERT_TRUE(status.is_ok()) << status.message();
    std::vector<float> want = ra.logits();
    for (float& x : want) x = std::max(0.0f, x);
    expect_near(rb.logits(), want);
  }
  EXPECT_NE(ra.logits(), std::vector<float>(22, 0.0f));
}

TensorMap external_of(TinyDecoder& model) {
  TensorMap weights;
  for (auto& [name, bytes] : model.text.external) {
    weights[name] = Tensor::of(reinterpret_cast<float*>(bytes.data()),
                               {static_cast<std::int64_t>(bytes.size() / 4)});
  }
  return weights;
}

TEST(BackendTest, ExternalWeightsGiveTheSameNumbers) {
  for (const bool standard_op : {false, true}) {
    const TinyDecoder inside(standard_op);
    TinyDecoder outside(standard_op, false, true);
    ASSERT_FALSE(outside.text.external.empty());
    const auto inside_file = inside.text.engine(), outside_file = outside.text.engine();
    EXPECT_LT(outside.text.weights.size(), inside.text.weights.size());
    auto a = load(inside_file, inside.contract);
    auto b = backend().load({outside_file.span(), "llm", "id", nullptr, external_of(outside)},
                            outside.contract, {2, "", "", 0});
    ASSERT_TRUE(a.is_ok()) << a.status().message();
    ASSERT_TRUE(b.is_ok()) << b.status().message();
    EXPECT_GE((*b)->memory().weights, (*a)->memory().weights - 256);  // gaps aside
    auto sa = (*a)->create_session(), sb = (*b)->create_session();
    Runner ra(**sa), rb(**sb);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(ra.feed({i, 5}, 2 * i).is_ok());
      ASSERT_TRUE(rb.feed({i, 5}, 2 * i).is_ok());
      EXPECT_EQ(ra.logits(), rb.logits());
    }
  }
}

TEST(BackendTest, ExternalWeightsThatDoNotFit) {
  TinyDecoder model(false, false, true);
  const auto file = model.text.engine();
  const auto code = [&](auto edit) {
    TensorMap weights = external_of(model);
    edit(weights);
    const auto engine = backend().load({file.span(), "llm", "id", nullptr, weights},
                                       model.contract, {2, "", "", 0});
    EXPECT_NE(engine.status().message().find(model.text.external.begin()->first),
              std::string_view::npos)
        << engine.status().message();
    return std::string(engine.status().code());
  };
  const std::string first = model.text.external.begin()->first;
  EXPECT_EQ(code([&](TensorMap& w) { w.erase(first); }), "backend.missing_weight");
  EXPECT_EQ(code([&](TensorMap& w) { w[first].shape = {1}; }), "backend.bad_engine");
  EXPECT_EQ(code([&](TensorMap& w) { w[first].shape = {w[first].shape[0], 1}; }),
            "backend.bad_engine");  // as many elements, but not the shape that was built
  EXPECT_EQ(code([&](TensorMap& w) { w[first].dtype = DType::kInt32; }), "backend.bad_engine");
  EXPECT_EQ(code([&](TensorMap& w) { w[first].data = nullptr; }), "backend.bad_engine");
  EXPECT_EQ(code([&](TensorMap& w) { w[first].memory = MemoryKind::kDevice; }),
            "backend.bad_engine");
}

TEST(BackendTest, PromptStepsChunksAndRollbackAgree) {
  const TinyDecoder model;
  const auto file = model.text.engine();
  auto engine = load(file, model.contract);
  auto s1 = (*engine)->create_session(), s2 = (*engine)->create_session();
  Runner whole(**s1), steps(**s2);
  const std::vector<std::int64_t> ids = {4, 1, 8, 8, 0, 10, 3};
  ASSERT_TRUE(whole.feed(ids, 0).is_ok());
  const std::vector<float> all = whole.logits();
  const std::vector<float> last(all.end() - 11, all.end());
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(steps.feed({ids[size_t(i)]}, i).is_ok());
  expect_near(steps.logits(), last);
  ASSERT_TRUE(steps.feed({9, 9, 9}, 2).is_ok());  // another continuation, then back
  ASSERT_TRUE(steps.feed({8, 8, 0}, 2).is_ok());
  ASSERT_TRUE(steps.feed({10, 3}, 5).is_ok());
  const std::vector<float> tail = steps.logits();
  expect_near({tail.end() - 11, tail.end()}, last);
}

TEST(BackendTest, BatchRowsAreIndependent) {
  const TinyDecoder model;
  const auto file = model.text.engine();
  auto engine = load(file, model.contract);
  auto s1 = (*engine)->create_session(), s2 = (*engine)->create_session();
  Runner two(**s1, 2), one(**s2);
  ASSERT_TRUE(two.feed({1, 2, 3, 6, 5, 4}, 0, 2).is_ok());
  ASSERT_TRUE(one.feed({6, 5, 4}, 0).is_ok());
  const std::vector<float> both = two.logits();
  expect_near({both.begin() + 33, both.end()}, one.logits());
}

TEST(BackendTest, StateOutputIsTheBoundMemory) {
  const TinyDecoder model;
  const auto file = model.text.engine();
  auto engine = load(file, model.contract);
  auto session = (*engine)->create_session();
  Runner run(**session);
  EXPECT_EQ((*session)->output("logits").status().code(), "backend.no_output");
  ASSERT_TRUE(run.feed({1, 2}, 0).is_ok());
  const auto out = (*session)->output("k_out_0");
  ASSERT_TRUE(out.is_ok());
  EXPECT_EQ(out->data, run.caches[0].view().data);
  EXPECT_NE(out->as<float>()[0], 0.0f);
  EXPECT_EQ(out->as<float>()[8], 0.0f) << "row 2 was not written";
  EXPECT_EQ((*session)->output("nothing").status().code(), "backend.no_output");
}

TEST(BackendTest, BadValuesNameTheNodeAndLeaveTheSessionUsable) {
  for (const bool standard : {false, true}) {
    const TinyDecoder model(standard);
    const auto file = model.text.engine();
    auto engine = load(file, model.contract);
    auto session = (*engine)->create_session();
    Runner run(**session);
    Status status = run.feed({1, 11}, 0);
    EXPECT_FALSE(status.is_ok());
    EXPECT_NE(status.message().find("ids[1] is 11"), std::string_view::npos) << status.message();
    EXPECT_NE(status.message().find("EmbeddingGather"), std::string_view::npos) << status.message();
    EXPECT_FALSE(run.feed({-1}, 0).is_ok());
    status = run.feed({1, 2}, 15);  // 16 rows
    EXPECT_NE(status.message().find("write_indices[0] is 15"), std::string_view::npos)
        << status.message();
    EXPECT_FALSE(run.feed(std::vector<std::int64_t>(17, 1), 0).is_ok());
    EXPECT_TRUE(run.feed({1, 2}, 14).is_ok());
  }
}

TEST(BackendTest, RefusesBadBindings) {
  const TinyDecoder model;
  const auto file = model.text.engine();
  auto engine = load(file, model.contract);
  auto session = (*engine)->create_session();
  std::vector<std::int64_t> ids(4);
  std::vector<float> floats(64);
  EXPECT_EQ((*session)->run().code(), "backend.unbound_input");
  EXPECT_EQ((*session)->bind("tokens", Tensor::of(ids.data(), {1, 4})).code(),
            "backend.bad_binding");
  EXPECT_EQ((*session)->bind("input_ids", Tensor::of(floats.data(), {1, 4})).code(),
            "backend.bad_binding");
  EXPECT_EQ((*session)->bind("input_ids", Tensor::of(ids.data(), {4})).code(),
            "backend.bad_binding");
  EXPECT_EQ((*session)->bind("k_cache_0", Tensor::of(floats.data(), {1, 1, 8, 4})).code(),
            "backend.bad_binding");
  EXPECT_EQ((*session)->bind("input_ids", Tensor::of<std::int64_t>(nullptr, {1, 4})).code(),
            "backend.bad_binding");
  EXPECT_EQ((*session)->set_profile("other").code(), "backend.unknown_profile");
  EXPECT_TRUE((*session)->set_profile("context").is_ok());
}

TEST(BackendTest, RefusesDifferentSizesOfOneDimension) {
  const TinyDecoder model;
  const auto file = model.text.engine();
  auto engine = load(file, model.contract);
  auto session = (*engine)->create_session();
  Runner run(**session);
  ASSERT_TRUE(run.feed({1, 2}, 0).is_ok());
  std::vector<std::int64_t> positions(3);
  ASSERT_TRUE((*session)->bind("position_ids", Tensor::of(positions.data(), {1, 3})).is_ok());
  EXPECT_EQ((*session)->run().code(), "backend.bad_binding");
}

TEST(BackendTest, RefusesAContractThatIsNotTheEngines) {
  const TinyDecoder model;
  const auto file = model.text.engine();
  Contract c = model.contract;
  c.inputs[0].dtype = DType::kInt32;
  EXPECT_EQ(load(file, c).status().code(), "backend.contract_mismatch");
  c = model.contract;
  c.inputs.push_back({"more", DType::kInt32, {}});
  EXPECT_EQ(load(file, c).status().code(), "backend.contract_mismatch");
  c = model.contract;
  c.outputs[0].shape[1] = std::int64_t{12};
  EXPECT_EQ(load(file, c).status().code(), "backend.contract_mismatch");
  c = model.contract;
  c.state.clear();  // then nobody promises that the caches may be written
  EXPECT_EQ(load(file, c).status().code(), "backend.contract_mismatch");
}

// The cache would be the read-only map of the bundle.
TEST(BackendTest, RefusesACacheThatIsAConstant) {
  const TinyDecoder model(false, true);
  const auto file = model.text.engine();
  Contract c = model.contract;
  c.inputs.erase(c.inputs.begin() + 5);
  c.state.erase(c.state.begin());
  c.outputs.erase(c.outputs.begin() + 1);
  const auto engine = load(file, c);
  EXPECT_EQ(engine.status().code(), "backend.contract_mismatch") << engine.status().message();
}

TEST(BackendTest, RefusesModelsThatAreNotConsistent) {
  // Each change of the text breaks one rule of the operators.
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"n=\"12\" k=\"8\"", "n=\"13\" k=\"8\""},  // weights too small
      {"rows=\"11\" n=\"8\"", "rows=\"99\" n=\"8\""},
      {"weight_type=\"f32\"", "weight_type=\"q4k\""},
      {"head_dim=\"4\"", "head_dim=\"0\""},
      {"q_heads=\"2\" kv", "q_heads=\"3\" kv"},
      {"rotary_dim=\"4\"", "rotary_dim=\"3\""},
      {"scale=\"0.5\"", "scale=\"nan\""},
      {"size=\"8\" epsilon", "size=\"7\" epsilon"},
      {"activation=\"silu\"", "activation=\"soft\""},
      {"residual=\"true\"", "residual=\"false\""},
      {"type=\"Linear\"", "type=\"Lineal\""},
      {"offset=\"128\"", "offset=\"99999999\""},
      {"from-port=\"2\"", "from-port=\"7\""},
      {"</layers>", "</layer>"},
  };
  for (const auto& [from, to] : changes) {
    const TinyDecoder model;
    auto file = model.text.engine();
    std::string bytes(reinterpret_cast<const char*>(file.data()), file.span().size());
    const size_t at = bytes.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    if (from.size() == to.size()) {
      std::memcpy(file.data() + at, to.data(), to.size());
    } else {  // the XML's length changes by what padding follows it
      std::uint64_t length = 0;
      std::memcpy(&length, file.data() + 24, 8);
      std::string xml = bytes.substr(4096, length);
      xml.replace(at - 4096, from.size(), to);
      length = xml.size();
      std::memcpy(file.data() + 24, &length, 8);
      std::memcpy(file.data() + 4096, xml.data(), xml.size());
    }
    const auto engine = load(file, model.contract);
    ASSERT_FALSE(engine.is_ok()) << from << " -> " << to;
    EXPECT_EQ(engine.status().exit_class(), ExitClass::kBadInput) << engine.status().message();
    EXPECT_NE(engine.status().message().find("section \"llm\""), std::string_view::npos);
  }
}

TEST(BackendTest, ComputeIsAKnownNameOrRefused) {
  const TinyDecoder model;
  const auto file = model.text.engine();
  EXPECT_TRUE(load(file, model.contract, "f32").is_ok());
  EXPECT_TRUE(load(file, model.contract, "bf16").is_ok());
  const auto engine = load(file, model.contract, "int3");
  EXPECT_EQ(engine.status().code(), "backend.unknown_compute");
  EXPECT_EQ(engine.status().exit_class(), ExitClass::kUnsupported);
}

TEST(BackendTest, ReportsMemory) {
  const TinyDecoder model;
  const auto file = model.text.engine();
  auto engine = load(file, model.contract);
  EXPECT_EQ((*engine)->memory().weights, model.text.weights.size());
  EXPECT_GT((*engine)->memory().per_session, 2u * 16 * 8 * 4);
  EXPECT_EQ((*engine)->contract().inputs.size(), model.contract.inputs.size());
}

TEST(BackendTest, AllocatorGivesZeroedAlignedMemory) {
  for (const std::int64_t n : {0, 1, 1000, 3000000}) {
    auto tensor = backend().allocator().allocate(DType::kFloat32, {n});
    ASSERT_TRUE(tensor.is_ok());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->view().data) % 64, 0u);
    for (const float x : tensor->view().as<float>()) ASSERT_EQ(x, 0.0f);
  }
  for (const int bits : {50, 60, 62}) {
    const auto huge = backend().allocator().allocate(DType::kFloat32, {std::int64_t{1} << bits, 2});
    EXPECT_EQ(huge.status().code(), "backend.out_of_memory");
    EXPECT_EQ(huge.status().exit_class(), ExitClass::kResource);
  }
}

}  // namespace
}  // namespace trtmc::openvino
