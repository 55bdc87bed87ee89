#include "python/trtmc/heap/growing_heap.h"

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

TEST(GrowingHeap, AddressesOnlyGrowAndMemoryIsZero) {
  GrowingHeap heap{kPlace};
  std::mt19937 rng(1);
  std::vector<void*> alive;
  std::uintptr_t top = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::size_t bytes = rng() % (rng() % 50 == 0 ? 300000 : 400);
    auto* const block = static_cast<unsigned char*>(heap.allocate(bytes));
    ASSERT_GT(at(block), top);
    top = at(block) + (bytes == 0 ? 0 : bytes - 1);
    ASSERT_TRUE(heap.owns(block));
    ASSERT_EQ(GrowingHeap::size_of(block), bytes);
    ASSERT_TRUE(std::all_of(block, block + bytes, [](unsigned char c) { return c == 0; }));
    std::memset(block, 0xab, bytes);
    alive.push_back(block);
    if (rng() % 3 != 0) {
      std::swap(alive[rng() % alive.size()], alive.back());
      heap.release(alive.back());
      alive.pop_back();
    }
  }
  for (void* block : alive) {
    const auto* const bytes = static_cast<unsigned char*>(block);
    ASSERT_TRUE(std::all_of(bytes, bytes + GrowingHeap::size_of(block), [](unsigned char c) { return c == 0xab; }));
    heap.release(block);
  }
}

TEST(GrowingHeap, DistancesDependOnSizesAlone) {
  GrowingHeap one{kPlace}, other{kPlace};  // the second finds its place taken
  (void)other.allocate(GrowingHeap::kPage - 100);  // and starts elsewhere in a page
  std::mt19937 rng(2);
  const std::uintptr_t from = at(one.allocate(8)), other_from = at(other.allocate(8));
  for (int i = 0; i < 5000; ++i) {
    const std::size_t bytes = rng() % 100000;
    void* const block = one.allocate(bytes);
    EXPECT_EQ(at(block) - from, at(other.allocate(bytes)) - other_from);
    if (rng() % 2 == 0) one.release(block);  // frees in one of them only
  }
}

TEST(GrowingHeap, StartsAtItsPlace) {
  constexpr std::uintptr_t kFree = 0x300000000000;  // no other test's
  GrowingHeap heap{kFree};
  EXPECT_EQ(at(heap.allocate(1)), kFree + GrowingHeap::kAlignment);
}

TEST(GrowingHeap, Alignment) {
  GrowingHeap heap{kPlace};
  for (std::size_t alignment = 1; alignment <= (1u << 20); alignment *= 2) {
    void* const block = heap.allocate(100, alignment);
    EXPECT_EQ(at(block) % alignment, 0u);
    std::memset(block, 1, 100);
    heap.release(block);
  }
}

TEST(GrowingHeap, GivesMemoryBack) {
  GrowingHeap heap{kPlace};
  const long before = resident();
  for (int i = 0; i < 400; ++i) {  // 400 MB in all, in blocks small and large
    const std::size_t bytes = i % 2 == 0 ? 2'000'000 : 1000;
    void* const block = heap.allocate(bytes);
    std::memset(block, 1, bytes);
    heap.release(block);
  }
  EXPECT_LT(resident() - before, 50'000);
}

TEST(GrowingHeap, TooMuchIsNull) {
  GrowingHeap heap{kPlace};
  EXPECT_EQ(heap.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(heap.allocate(std::size_t{1} << 43), nullptr);
  EXPECT_NE(heap.allocate(1), nullptr);
}

TEST(GrowingHeap, OwnsNothingElse) {
  GrowingHeap heap{kPlace};
  int local = 0;
  EXPECT_FALSE(heap.owns(&local));
  (void)heap.allocate(1);
  EXPECT_FALSE(heap.owns(&local));
  EXPECT_FALSE(heap.owns(nullptr));
}

TEST(GrowingHeap, Threads) {
  GrowingHeap heap{kPlace};
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
    for (unsigned char* block : alive) ASSERT_EQ(block[GrowingHeap::size_of(block) - 1], mark);
  };
  std::thread one(work, 1), two(work, 2);
  one.join();
  two.join();
}

}  // namespace
}  // namespace trtmc::heap
