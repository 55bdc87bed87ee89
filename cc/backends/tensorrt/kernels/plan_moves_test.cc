// The order of moves that reorders a batch, against copying all at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "cc/backends/tensorrt/kernels/cache_ops.h"

namespace trtmc::tensorrt {
namespace {

void expect_reorders(const std::vector<std::int32_t>& sources) {
  std::vector<int> places(sources.size());
  std::iota(places.begin(), places.end(), 100);
  std::vector<int> want;
  for (const std::int32_t source : sources) want.push_back(100 + source);
  std::vector<Move> moves(sources.size() * 3 / 2);
  const int count = plan_moves(sources, moves);
  ASSERT_LE(static_cast<std::size_t>(count), moves.size());
  int aside = -1;
  for (int m = 0; m < count; ++m) {
    const Move move = moves[static_cast<std::size_t>(m)];
    const int value = move.from == kTemporary ? aside : places[static_cast<std::size_t>(move.from)];
    (move.to == kTemporary ? aside : places[static_cast<std::size_t>(move.to)]) = value;
  }
  EXPECT_EQ(places, want);
}

TEST(PlanMovesTest, NothingToDo) {
  std::vector<Move> moves(4);
  EXPECT_EQ(plan_moves(std::vector<std::int32_t>{0, 1, 2}, moves), 0);
}

TEST(PlanMovesTest, ChainsCyclesAndFans) {
  expect_reorders({1, 0});
  expect_reorders({1, 2, 0});
  expect_reorders({0, 0, 0, 0});
  expect_reorders({1, 2, 3, 3});
  expect_reorders({1, 0, 3, 2, 0});
  expect_reorders({2, 0, 1, 0, 5, 4, 4});
}

TEST(PlanMovesTest, AnyMap) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::int32_t> sources(1 + random() % static_cast<unsigned>(kMostSequences));
    for (auto& source : sources) source = static_cast<std::int32_t>(random() % sources.size());
    expect_reorders(sources);
    std::iota(sources.begin(), sources.end(), 0);
    std::shuffle(sources.begin(), sources.end(), random);
    expect_reorders(sources);
  }
}

}  // namespace
}  // namespace trtmc::tensorrt
