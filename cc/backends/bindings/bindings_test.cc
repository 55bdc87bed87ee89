// Bindings: names, types and sizes against a contract.
#include "cc/backends/bindings/bindings.h"

#include <gtest/gtest.h>

#include <vector>

namespace trtmc {
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

TEST_F(BindingsTest, StateOfADeviceBackendLiesOnTheDevice) {
  Bindings device(c, BindingMemory::kDeviceState);
  Tensor cache = Tensor::of(floats.data(), {5});
  EXPECT_EQ(device.bind("cache", cache).code(), "backend.bad_binding");
  cache.memory = MemoryKind::kDevice;
  EXPECT_TRUE(device.bind("cache", cache).is_ok());
  Tensor x = Tensor::of(floats.data(), {2, 3});
  EXPECT_TRUE(device.bind("x", x).is_ok());
  x.memory = MemoryKind::kDevice;
  EXPECT_TRUE(device.bind("x", x).is_ok());
  EXPECT_TRUE(device.is_state(2));
  EXPECT_FALSE(device.is_state(0));
}

TEST_F(BindingsTest, SizesOutsideAProfile) {
  const Profile profile = {"small", {{"batch", {1, 1, 2}}}};
  EXPECT_TRUE(bindings.check_range(profile, {2, 99}).is_ok());
  const Status status = bindings.check_range(profile, {3, 99});
  EXPECT_EQ(status.code(), "backend.outside_profile");
  EXPECT_EQ(status.message(), "dimension \"batch\" is 3; profile \"small\" allows 1 to 2");
  EXPECT_EQ(bindings.by_name({3, 99}), (DimSizes{{"batch", 3}, {"rows", 99}}));
}

}  // namespace
}  // namespace trtmc
