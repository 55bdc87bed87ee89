// ArenaPlan: no two live tensors overlap, and memory is used again.
#include "cc/backends/openvino/arena.h"

#include <gtest/gtest.h>

#include <random>

namespace trtmc::openvino {
namespace {

struct Placed {
  std::size_t begin, bytes;
  int first, last;
};

TEST(ArenaTest, LiveTensorsNeverOverlap) {
  std::mt19937 gen(7);
  for (int round = 0; round < 50; ++round) {
    ArenaPlan plan;
    std::vector<Placed> all;
    for (int step = 0; step < 60; ++step) {
      const std::size_t bytes = gen() % 500;
      const int last = step + static_cast<int>(gen() % 8);
      all.push_back({plan.place(bytes, step, last), bytes, step, last});
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].begin % 64, 0u);
      EXPECT_LE(all[i].begin + all[i].bytes, plan.size());
      for (std::size_t j = 0; j < i; ++j) {
        const bool together = all[j].last >= all[i].first;
        const bool apart = all[i].begin + all[i].bytes <= all[j].begin ||
                           all[j].begin + all[j].bytes <= all[i].begin;
        ASSERT_TRUE(!together || apart) << i << " and " << j;
      }
    }
  }
}

TEST(ArenaTest, AChainNeedsTwoTensors) {
  ArenaPlan plan;
  for (int step = 0; step < 100; ++step) plan.place(1000, step, step + 1);
  EXPECT_LE(plan.size(), 2 * 1024u);
}

TEST(ArenaTest, EmptyTensorsHaveAPlaceOfTheirOwn) {
  ArenaPlan plan;
  EXPECT_NE(plan.place(0, 0, 5), plan.place(0, 0, 5));
}

}  // namespace
}  // namespace trtmc::openvino
