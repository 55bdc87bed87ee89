// The cache kernels on a real GPU, against the same done on the host; and how near they come to
// the memory's speed (printed, not judged).
#include "cc/backends/tensorrt/kernels/cache_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace trtmc::tensorrt {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Free {
  void operator()(void* p) const { cudaFree(p); }
};

class Cache {
 public:
  Cache(const CacheLayout& layout, int tensors, std::size_t offset = 0) : layout_(layout) {
    std::mt19937 random(11);
    for (int t = 0; t < tensors; ++t) {
      void* memory = nullptr;
      EXPECT_EQ(cudaMalloc(&memory, size() + offset), cudaSuccess);
      owned_.emplace_back(memory);
      pointers_.push_back(static_cast<char*>(memory) + offset);
      Bytes& bytes = host_.emplace_back(size());
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::uint8_t>(1 + random() % 255);
      }
      cudaMemcpy(pointers_.back(), bytes.data(), size(), cudaMemcpyHostToDevice);
    }
  }

  std::size_t size() const {
    return static_cast<std::size_t>(layout_.batch * layout_.heads * layout_.rows *
                                    layout_.row_bytes);
  }
  std::span<void* const> pointers() const { return pointers_; }
  const CacheLayout& layout() const { return layout_; }

  // Host bytes of row r of head h of sequence b.
  std::uint8_t* row(std::size_t tensor, std::int64_t b, std::int64_t h, std::int64_t r) {
    return host_[tensor].data() + ((b * layout_.heads + h) * layout_.rows + r) * layout_.row_bytes;
  }
  void each_head(const std::function<void(std::size_t, std::int64_t)>& visit) {
    for (std::size_t t = 0; t < host_.size(); ++t) {
      for (std::int64_t h = 0; h < layout_.heads; ++h) visit(t, h);
    }
  }
  void expect_equal(const std::string& what) {
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (std::size_t t = 0; t < host_.size(); ++t) {
      Bytes got(size());
      cudaMemcpy(got.data(), pointers_[t], size(), cudaMemcpyDeviceToHost);
      ASSERT_TRUE(got == host_[t]) << what << ", tensor " << t;
    }
  }
  std::vector<Bytes>& host() { return host_; }

 private:
  CacheLayout layout_;
  std::vector<std::unique_ptr<void, Free>> owned_;
  std::vector<void*> pointers_;
  std::vector<Bytes> host_;
};

std::vector<CacheLayout> layouts() {
  return {{1, 1, 5, 1},    {2, 3, 17, 6},  {3, 2, 40, 12},
          {4, 8, 70, 128}, {5, 2, 33, 24}, {1, 4, 100, 256}};
}

TEST(CacheOpsTest, ClearsTheRowsOfOneSequence) {
  for (const CacheLayout& l : layouts()) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{2}, std::size_t{1}}) {
      Cache cache(l, 3, offset);
      const std::int64_t b = l.batch - 1, first = l.rows / 3, last = l.rows - 1;
      ASSERT_TRUE(clear_rows(cache.pointers(), l, b, first, last, nullptr).is_ok());
      cache.each_head([&](std::size_t t, std::int64_t h) {
        std::memset(cache.row(t, b, h, first), 0,
                    static_cast<std::size_t>((last - first) * l.row_bytes));
      });
      cache.expect_equal("rows of " + std::to_string(l.row_bytes) + " bytes");
    }
  }
}

TEST(CacheOpsTest, KeepsRowsInPlace) {
  std::mt19937 random(3);
  for (const CacheLayout& l : layouts()) {
    Cache cache(l, 70);  // more than one launch takes
    std::vector<std::int32_t> keep;
    for (std::int64_t r = 0; r < l.rows; ++r) {
      if (random() % 3 != 0) keep.push_back(static_cast<std::int32_t>(r));
    }
    std::int32_t* device = nullptr;
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), keep.size() * 4 + 4), cudaSuccess);
    const std::unique_ptr<std::int32_t, Free> owner(device);
    cudaMemcpy(device, keep.data(), keep.size() * 4, cudaMemcpyHostToDevice);
    const auto count = static_cast<std::int64_t>(keep.size());
    ASSERT_TRUE(keep_rows(cache.pointers(), l, 0, device, count, nullptr).is_ok());
    cache.each_head([&](std::size_t t, std::int64_t h) {
      for (std::int64_t i = 0; i < count; ++i) {
        std::memmove(cache.row(t, 0, h, i), cache.row(t, 0, h, keep[static_cast<std::size_t>(i)]),
                     static_cast<std::size_t>(l.row_bytes));
      }
    });
    cache.expect_equal("keeping " + std::to_string(count));
  }
}

TEST(CacheOpsTest, ReordersSequencesInPlace) {
  std::mt19937 random(5);
  for (const CacheLayout& l : layouts()) {
    for (int round = 0; round < 3; ++round) {
      Cache cache(l, 3);
      std::vector<std::int32_t> sources(static_cast<std::size_t>(l.batch));
      for (auto& source : sources) source = static_cast<std::int32_t>(random() % sources.size());
      if (round == 1) std::iota(sources.rbegin(), sources.rend(), 0);
      const std::int64_t rows = l.rows - 1;
      ASSERT_TRUE(reorder_sequences(cache.pointers(), l, sources, rows, nullptr).is_ok());
      Cache old(l, 3);  // the same bytes: the generator is seeded
      cache.each_head([&](std::size_t t, std::int64_t h) {
        for (std::int64_t b = 0; b < l.batch; ++b) {
          std::memcpy(cache.row(t, b, h, 0), old.row(t, sources[static_cast<std::size_t>(b)], h, 0),
                      static_cast<std::size_t>(rows * l.row_bytes));
        }
      });
      cache.expect_equal("round " + std::to_string(round));
    }
  }
}

TEST(CacheOpsTest, RefusesWhatDoesNotFit) {
  const CacheLayout l{2, 2, 8, 16};
  Cache cache(l, 1);
  const std::vector<void*> none = {nullptr};
  const std::vector<std::int32_t> one = {0}, far = {0, 2};
  for (const Status& status :
       {clear_rows(cache.pointers(), l, 2, 0, 1, nullptr),
        clear_rows(cache.pointers(), l, 0, 3, 2, nullptr),
        clear_rows(cache.pointers(), l, 0, 0, 9, nullptr), clear_rows(none, l, 0, 0, 1, nullptr),
        keep_rows(cache.pointers(), l, 0, nullptr, 1, nullptr),
        reorder_sequences(cache.pointers(), l, one, 1, nullptr),
        reorder_sequences(cache.pointers(), l, far, 1, nullptr)}) {
    EXPECT_EQ(status.code(), "backend.bad_cache_call");
  }
  cache.expect_equal("nothing happened");
}

// Best of some rounds, in TB/s.
double speed(double bytes, const std::function<Status()>& work) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float best = 1e9f;
  for (int round = 0; round < 12; ++round) {
    cudaEventRecord(begin);
    EXPECT_TRUE(work().is_ok());
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    if (round > 1) best = std::min(best, ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return bytes / best / 1e9;
}

TEST(CacheOpsTest, PrintsHowFastItIs) {
  if (std::getenv("TRTMC_SPEED") == nullptr) GTEST_SKIP() << "set TRTMC_SPEED";
  // 32 layers, 8 heads of 128 x fp16, 8192 rows, 8 sequences: 8.6 GB.
  const CacheLayout l{8, 8, 8192, 256};
  std::vector<void*> tensors;
  const std::size_t bytes = static_cast<std::size_t>(l.batch * l.heads * l.rows * l.row_bytes);
  for (int t = 0; t < 64; ++t) {
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
    cudaMemset(memory, t, bytes);
    tensors.push_back(memory);
  }
  const double all = static_cast<double>(bytes) * 64, one = all / 8;
  std::printf("copy between halves   %.2f TB/s (read + write)\n", speed(all, [&] {
                for (int t = 0; t < 32; ++t) {
                  cudaMemcpyAsync(tensors[static_cast<std::size_t>(t)],
                                  tensors[static_cast<std::size_t>(t + 32)], bytes,
                                  cudaMemcpyDeviceToDevice);
                }
                return Status::ok();
              }));
  std::printf("clear_rows            %.2f TB/s (write), one sequence\n",
              speed(one, [&] { return clear_rows(tensors, l, 3, 0, l.rows, nullptr); }));
  const std::vector<std::int32_t> swap = {1, 0, 3, 2, 5, 4, 7, 6}, same = {0, 0, 0, 0, 4, 4, 4, 4};
  std::printf("reorder, all swapped  %.2f TB/s (read + write)\n",
              speed(2 * all, [&] { return reorder_sequences(tensors, l, swap, l.rows, nullptr); }));
  std::printf("reorder, two to eight %.2f TB/s (read twice, write six)\n", speed(12 * one, [&] {
                return reorder_sequences(tensors, l, same, l.rows, nullptr);
              }));
  std::vector<std::int32_t> keep(static_cast<std::size_t>(l.rows / 2));
  for (std::size_t i = 0; i < keep.size(); ++i) keep[i] = static_cast<std::int32_t>(2 * i);
  std::int32_t* device = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), keep.size() * 4), cudaSuccess);
  cudaMemcpy(device, keep.data(), keep.size() * 4, cudaMemcpyHostToDevice);
  std::printf("keep_rows, each other %.2f TB/s (read + write), one sequence\n", speed(one, [&] {
                return keep_rows(tensors, l, 3, device, static_cast<std::int64_t>(keep.size()),
                                 nullptr);
              }));
  cudaFree(device);
  for (void* tensor : tensors) cudaFree(tensor);
}

}  // namespace
}  // namespace trtmc::tensorrt
