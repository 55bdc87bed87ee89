// Bindings: names, types and sizes against a contract.
#include "cc/backends/openvino/bindings.h"

#include <gtest/gtest.h>

#include <vector>

namespace trtmc::openvino {
namespace {

Contract contract() {
  Contract c;
  c.inputs = {{"x", DType::kFloat32, {Dim("batch"), std::int64_t{3}}},
              {"n", DType::kInt32, {Dim("batch")}},
              {"cache", DType::kFloat32, {Dim("rows")}}};
  c.state = {{"cache", "cache_out"}};
  return c;
}

struct BindingsTest : ::testing::Test {
  Contract c = contract();
  Bindings bindings{c};
  std::vector<float> floats = std::vector<float>(12);
  std::vector<std::int32_t> ints = std::vector<std::int32_t>(4);
};

TEST_F(BindingsTest, CollectsSizesInOrder) {
  ASSERT_TRUE(bindings.bind("x", Tensor::of(floats.data(), {2, 3})).is_ok());
  ASSERT_TRUE(bindings.bind("n", Tensor::of(ints.data(), {2})).is_ok());
  EXPECT_EQ(bindings.sizes().status().code(), "backend.unbound_input");
  ASSERT_TRUE(bindings.bind("cache", Tensor::of(floats.data(), {5})).is_ok());
  EXPECT_EQ(*bindings.sizes(), (std::vector<std::int64_t>{2, 5}));
  ASSERT_TRUE(bindings.bind("n", Tensor::of(ints.data(), {3})).is_ok());
  const auto sizes = bindings.sizes();
  EXPECT_EQ(sizes.status().code(), "backend.bad_binding");
  EXPECT_NE(sizes.status().message().find("\"batch\" is 3"), std::string_view::npos);
}

TEST_F(BindingsTest, AZeroSizeIsASize) {
  ASSERT_TRUE(bindings.bind("x", Tensor::of<float>(nullptr, {0, 3})).is_ok());
  ASSERT_TRUE(bindings.bind("n", Tensor::of(ints.data(), {1})).is_ok());
  ASSERT_TRUE(bindings.bind("cache", Tensor::of(floats.data(), {1})).is_ok());
  EXPECT_EQ(bindings.sizes().status().code(), "backend.bad_binding");
}

TEST_F(BindingsTest, RefusesWhatTheContractForbids) {
  for (const Tensor& bad : {Tensor::of(ints.data(), {1, 3}), Tensor::of(floats.data(), {3}),
                            Tensor::of(floats.data(), {3, 1}), Tensor::of(floats.data(), {-1, 3}),
                            Tensor::of<float>(nullptr, {1, 3})}) {
    EXPECT_EQ(bindings.bind("x", bad).code(), "backend.bad_binding");
  }
  Tensor device = Tensor::of(floats.data(), {1, 3});
  device.memory = MemoryKind::kDevice;
  EXPECT_EQ(bindings.bind("x", device).code(), "backend.bad_binding");
  EXPECT_EQ(bindings.bind("y", Tensor::of(floats.data(), {1, 3})).code(), "backend.bad_binding");
}

TEST_F(BindingsTest, FindsStateAndPlaces) {
  EXPECT_EQ(bindings.index_of("cache"), 2u);
  EXPECT_EQ(bindings.state_input("cache_out"), 2u);
  EXPECT_EQ(bindings.state_input("x"), Bindings::npos);
  EXPECT_EQ(bindings.index_of("none"), Bindings::npos);
}

}  // namespace
}  // namespace trtmc::openvino
