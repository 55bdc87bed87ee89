// Pool: every chunk once, under few and many threads, from several callers, after sleeping.
#include "cc/backends/openvino/kernels/pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

namespace trtmc::cpu {
namespace {

void expect_each_once(Pool& pool, int chunks) {
  std::vector<std::atomic<int>> hits(static_cast<size_t>(chunks));
  std::atomic<int> bad_workers{0};
  pool.run(chunks, [&](int chunk, int worker) {
    hits[static_cast<size_t>(chunk)].fetch_add(1);
    if (worker < 0 || worker >= pool.threads()) bad_workers.fetch_add(1);
  });
  for (int i = 0; i < chunks; ++i) ASSERT_EQ(hits[static_cast<size_t>(i)].load(), 1) << i;
  ASSERT_EQ(bad_workers.load(), 0);
}

TEST(PoolTest, RunsEachChunkOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    Pool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int chunks : {0, 1, 2, 3, 17, 1000}) expect_each_once(pool, chunks);
  }
}

TEST(PoolTest, MoreChunksThanOneCounterHolds) {
  Pool pool(2);
  expect_each_once(pool, 70000);
}

TEST(PoolTest, ManyShortLoopsSeeEachOthersWrites) {
  Pool pool(4);
  std::vector<int> data(64, 0);
  for (int round = 1; round <= 5000; ++round) {
    pool.run(64, [&](int i, int) { data[static_cast<size_t>(i)] += 1; });
    ASSERT_EQ(std::accumulate(data.begin(), data.end(), 0), 64 * round);
  }
}

TEST(PoolTest, WakesAfterSleeping) {
  Pool pool(2);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than workers spin
    expect_each_once(pool, 10);
  }
}

TEST(PoolTest, CallersFromSeveralThreadsTakeTurns) {
  Pool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> total{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        pool.run(8, [&](int, int) { total.fetch_add(1); });
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(total.load(), 4 * 200 * 8);
}

}  // namespace
}  // namespace trtmc::cpu
