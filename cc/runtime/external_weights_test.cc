// What the manager hands out: in place, or converted once; and manifests that do not fit.
#include "cc/runtime/external_weights.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "cc/testing/memory_bundle.h"

namespace trtmc {
namespace {

using testing::MemoryBundle;

// Two tensors: "a", bfloat16 [2, 3], and on the next page "b", float32 [4].
constexpr std::uint16_t kA[] = {0x3F80, 0xBF80, 0x7F80, 0x7FC0, 0x0001, 0x4780};  // 1 -1 inf nan …
constexpr float kB[] = {1.0f, 65519.0f, 65520.0f, -0x1p-25f};

std::shared_ptr<MemoryBundle> sample() {
  auto bundle = std::make_shared<MemoryBundle>();
  bundle->edit().weights = StoredWeights{
      "weights/checkpoint",
      {{"a", DType::kBFloat16, {2, 3}, 0}, {"b", DType::kFloat32, {4}, 4096}}};
  std::vector<std::byte> bytes(4096 + sizeof(kB));
  std::memcpy(bytes.data(), kA, sizeof(kA));
  std::memcpy(bytes.data() + 4096, kB, sizeof(kB));
  bundle->put("weights/checkpoint", bytes);
  return bundle;
}

BundleEngine engine_of(std::vector<WeightBinding> weights) {
  return {"cpu_x86_64", "engines/llm", {}, std::move(weights), "{}"};
}

WeightBinding bind(const char* tensor, DType dtype, Shape shape) {
  return {std::string("in_") + tensor, dtype, shape, tensor, {}};
}

TEST(ExternalWeights, InPlaceIfNothingChanges) {
  const auto bundle = sample();
  ExternalWeightManager manager(bundle);
  const auto section = bundle->section("weights/checkpoint").value();
  const WeightSet set = manager.weights_of(engine_of({bind("a", DType::kBFloat16, {2, 3}),
                                                      bind("b", DType::kFloat32, {1, 2, 2})}))
                            .value();
  ASSERT_EQ(set.tensors.size(), 2u);
  EXPECT_EQ(set.tensors.at("in_a").data, section.data());
  EXPECT_EQ(set.tensors.at("in_b").data, section.data() + 4096);
  EXPECT_EQ(set.tensors.at("in_b").shape, (Shape{1, 2, 2}));
  EXPECT_EQ(set.tensors.at("in_b").bytes(), sizeof(kB));
}

TEST(ExternalWeights, ConvertedOnceForAllWhoAsk) {
  ExternalWeightManager manager(sample());
  const BundleEngine engine =
      engine_of({bind("a", DType::kFloat16, {2, 3}), bind("b", DType::kFloat16, {4})});
  const WeightSet first = manager.weights_of(engine).value();
  const WeightSet second = manager.weights_of(engine).value();
  EXPECT_EQ(first.tensors.at("in_a").data, second.tensors.at("in_a").data);
  const auto a = first.tensors.at("in_a").as<std::uint16_t>();
  EXPECT_EQ(std::vector(a.begin(), a.end()),
            (std::vector<std::uint16_t>{0x3C00, 0xBC00, 0x7C00, 0x7E00, 0x0000, 0x7C00}));
  const auto b = first.tensors.at("in_b").as<std::uint16_t>();
  EXPECT_EQ(std::vector(b.begin(), b.end()),
            (std::vector<std::uint16_t>{0x3C00, 0x7BFF, 0x7C00, 0x8000}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % 4096, 0u);
}

TEST(ExternalWeights, TheyLiveAsLongAsTheirKeepalive) {
  WeightSet set;
  std::weak_ptr<MemoryBundle> watched;
  {
    auto bundle = sample();
    watched = bundle;
    ExternalWeightManager manager(std::move(bundle));
    set = manager.weights_of(engine_of({bind("a", DType::kFloat32, {6})})).value();
  }
  EXPECT_EQ(set.tensors.at("in_a").as<float>()[1], -1.0f);
  EXPECT_FALSE(watched.expired());
  set = {};
  EXPECT_TRUE(watched.expired());
}

TEST(ExternalWeights, AnEngineThatHoldsItsWeightsGetsNone) {
  const auto bundle = std::make_shared<MemoryBundle>();
  ExternalWeightManager manager(bundle);
  EXPECT_TRUE(manager.weights_of(engine_of({})).value().tensors.empty());
}

TEST(ExternalWeights, HostileManifests) {
  const auto refused = [](auto edit, WeightBinding binding) {
    auto bundle = sample();
    edit(bundle->edit());
    ExternalWeightManager manager(bundle);
    const Status status = manager.weights_of(engine_of({std::move(binding)})).status();
    if (status.code() == "weights.bad_manifest") {
      EXPECT_EQ(status.exit_code(), 3);
      EXPECT_NE(status.message().find("in_"), std::string_view::npos) << status.message();
    }
    return std::string(status.code());
  };
  const auto as_is = [](BundleHeader&) {};
  const WeightBinding a = bind("a", DType::kFloat16, {2, 3});
  const std::string bad = "weights.bad_manifest";
  EXPECT_EQ(refused(as_is, a), "ok");
  EXPECT_EQ(refused([](BundleHeader& h) { h.weights.reset(); }, a), bad);
  EXPECT_EQ(refused([](BundleHeader& h) { h.weights->section = "x"; }, a), "bundle.no_section");
  EXPECT_EQ(refused(as_is, bind("c", DType::kFloat16, {2, 3})), bad);
  EXPECT_EQ(refused(as_is, bind("a", DType::kInt8, {2, 3})), bad);
  EXPECT_EQ(refused(as_is, bind("a", DType::kFloat16, {2, 4})), bad);
  EXPECT_EQ(refused(as_is, bind("a", DType::kFloat16, {-2, -3})), bad);
  const auto tensor = [](auto edit) {
    return [edit](BundleHeader& h) { edit(h.weights->tensors[0]); };
  };
  const auto with_shape = [&](Shape shape) {
    return refused(tensor([=](StoredTensor& t) { t.shape = shape; }),
                   bind("a", DType::kFloat16, shape));
  };
  EXPECT_EQ(with_shape({4096, 1}), bad);  // past the end of the section
  EXPECT_EQ(with_shape({std::int64_t{1} << 40, std::int64_t{1} << 40}), bad);
  EXPECT_EQ(with_shape({0}), bad);
  EXPECT_EQ(refused(tensor([](StoredTensor& t) { t.offset = 4112; }), a), bad);
  EXPECT_EQ(refused(tensor([](StoredTensor& t) { t.offset = ~std::uint64_t{0} - 4; }), a), bad);
  EXPECT_EQ(refused(tensor([](StoredTensor& t) { t.dtype = DType::kInt4; }), a), bad);
}

}  // namespace
}  // namespace trtmc
