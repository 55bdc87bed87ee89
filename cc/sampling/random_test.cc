#include "cc/sampling/random.h"

#include <gtest/gtest.h>

namespace trtmc {
namespace {

// Known answers published with the Random123 library.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformIsAPureFunctionOfSeedAndIndex) {
  EXPECT_EQ(philox_uniform(7, 3), philox_uniform(7, 3));
  EXPECT_NE(philox_uniform(7, 3), philox_uniform(7, 4));
  EXPECT_NE(philox_uniform(7, 3), philox_uniform(8, 3));
  EXPECT_NE(philox_uniform(7, 3), philox_uniform(7, 3, 1));
}

TEST(Philox, UniformStaysInRangeWithTheRightMean) {
  double sum = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const double u = philox_uniform(1, i);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
}

}  // namespace
}  // namespace trtmc
