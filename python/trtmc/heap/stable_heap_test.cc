#include "python/trtmc/heap/stable_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace trtmc::heap {
namespace {

constexpr std::uintptr_t kPlace = 0x200000000000;

std::uintptr_t at(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }

// Kilobytes of memory behind this process.
long resident() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long value = 0;
    if (word == "VmRSS:" && status >> value) return value;
  }
  return -1;
}

TEST(StableHeap, BlocksAreApartAndKeepTheirBytes) {
  StableHeap heap{kPlace};
  std::mt19937 rng(1);
  std::vector<unsigned char*> alive;
  auto check_and_release = [&heap](unsigned char* block) {
    const std::size_t bytes = heap.size_of(block);
    ASSERT_TRUE(std::all_of(block, block + bytes, [bytes](unsigned char c) { return c == bytes % 251; }));
    heap.release(block);
  };
  for (int i = 0; i < 20000; ++i) {
    const std::size_t bytes = rng() % (rng() % 50 == 0 ? 300000 : 400);
    auto* const block = static_cast<unsigned char*>(heap.allocate(bytes));
    ASSERT_TRUE(heap.owns(block));
    ASSERT_EQ(at(block) % StableHeap::kAlignment, 0u);
    const std::size_t whole = heap.size_of(block);
    ASSERT_GE(whole, bytes);
    ASSERT_LE(whole, bytes + bytes / 8 + 16);
    std::memset(block, static_cast<int>(whole % 251), whole);
    alive.push_back(block);
    if (rng() % 3 != 0) {
      std::swap(alive[rng() % alive.size()], alive.back());
      check_and_release(alive.back());
      alive.pop_back();
    }
  }
  for (unsigned char* block : alive) check_and_release(block);
}

// Offsets from the first of the addresses that a sequence of requests gets.
std::vector<std::uintptr_t> layout(StableHeap& heap) {
  std::mt19937 rng(2);
  std::vector<void*> alive;
  std::vector<std::uintptr_t> found;
  for (int i = 0; i < 5000; ++i) {
    alive.push_back(heap.allocate(rng() % (rng() % 20 == 0 ? 100000 : 300), rng() % 30 == 0 ? 64 : 16));
    found.push_back(at(alive.back()));
    if (rng() % 2 == 0) {
      std::swap(alive[rng() % alive.size()], alive.back());
      heap.release(alive.back());
      alive.pop_back();
    }
  }
  const std::uintptr_t first = found.front();
  for (std::uintptr_t& address : found) address -= first;
  return found;
}

TEST(StableHeap, RequestsAloneDecideTheLayout) {
  StableHeap one{kPlace}, other{kPlace};  // the second finds its place taken
  const auto first = layout(one);
  EXPECT_EQ(first, layout(other));
  EXPECT_NE(first, layout(one)) << "blocks freed before are used first";
  one.start_afresh();
  EXPECT_EQ(first, layout(one));
}

TEST(StableHeap, BlocksFromBeforeDoNotCountInANewStart) {
  StableHeap heap{kPlace};
  const auto first = layout(heap);
  heap.start_afresh();
  std::vector<void*> old;
  for (int i = 0; i < 3000; ++i) old.push_back(heap.allocate(200));
  heap.start_afresh();
  for (void* block : old) heap.release(block);
  EXPECT_EQ(first, layout(heap));
}

TEST(StableHeap, StartsAtItsPlace) {
  constexpr std::uintptr_t kFree = 0x300000000000;  // no other test's
  StableHeap heap{kFree};
  EXPECT_EQ(at(heap.allocate(1)), kFree);
}

TEST(StableHeap, Alignment) {
  StableHeap heap{kPlace};
  for (std::size_t alignment = 1; alignment <= (1u << 20); alignment *= 2) {
    void* const block = heap.allocate(100, alignment);
    EXPECT_EQ(at(block) % alignment, 0u);
    std::memset(block, 1, 100);
    heap.release(block);
  }
}

TEST(StableHeap, GivesMemoryBack) {
  StableHeap heap{kPlace};
  const long before = resident();
  std::vector<void*> many;
  for (int i = 0; i < 400'000; ++i) many.push_back(std::memset(heap.allocate(500), 1, 500));
  EXPECT_GT(resident() - before, 150'000);
  for (void* block : many) heap.release(block);
  for (int i = 0; i < 400; ++i) {  // 400 MB in all, in blocks small and large
    const std::size_t bytes = i % 2 == 0 ? 2'000'000 : 1000;
    void* const block = heap.allocate(bytes);
    std::memset(block, 1, bytes);
    heap.release(block);
  }
  EXPECT_LT(resident() - before, 50'000);
}

TEST(StableHeap, TooMuchIsNull) {
  StableHeap heap{kPlace};
  EXPECT_EQ(heap.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(heap.allocate((std::size_t{1} << 43) + 1), nullptr);
  EXPECT_NE(heap.allocate(1), nullptr);
}

TEST(StableHeap, OwnsNothingElse) {
  StableHeap heap{kPlace};
  int local = 0;
  EXPECT_FALSE(heap.owns(&local));
  (void)heap.allocate(1);
  EXPECT_FALSE(heap.owns(&local));
  EXPECT_FALSE(heap.owns(nullptr));
}

TEST(StableHeap, Threads) {
  StableHeap heap{kPlace};
  auto work = [&heap](unsigned char mark) {
    std::vector<unsigned char*> alive;
    for (int i = 0; i < 20000; ++i) {
      alive.push_back(static_cast<unsigned char*>(heap.allocate(50 + i % 900)));
      std::memset(alive.back(), mark, 50 + i % 900);
      if (i % 3 == 0) {
        std::swap(alive[i % alive.size()], alive.back());
        ASSERT_EQ(*alive.back(), mark);
        heap.release(alive.back());
        alive.pop_back();
      }
    }
    for (unsigned char* block : alive) ASSERT_EQ(block[0], mark);
  };
  std::thread one(work, 1), two(work, 2);
  one.join();
  two.join();
}

}  // namespace
}  // namespace trtmc::heap
