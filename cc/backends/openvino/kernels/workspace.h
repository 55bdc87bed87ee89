// Workspace: scratch memory that grows and stays, and the pool: what a kernel driver runs with.
//
// One per session; not thread-safe (the drivers hand out disjoint parts to the pool's threads).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "cc/backends/openvino/kernels/pool.h"
#include "cc/backends/openvino/kernels/table.h"

namespace trtmc::cpu {

class Workspace {
 public:
  // `pool` must outlive this.
  explicit Workspace(Pool& pool) : pool_(&pool), local_(static_cast<std::size_t>(pool.threads())) {}

  Pool& pool() const { return *pool_; }

  // At least `bytes`, 64-byte aligned, contents undefined; valid until the next call with more.
  // Throws std::bad_alloc.
  void* shared(std::size_t bytes) { return shared_.get(bytes); }

  // The same, one per worker of the pool. Call before the loop, then local_at() inside it.
  void reserve_local(std::size_t bytes) {
    for (Buffer& b : local_) b.get(bytes);
  }
  void* local_at(int worker) { return local_[static_cast<std::size_t>(worker)].data(); }

  std::size_t bytes() const {
    std::size_t total = shared_.size();
    for (const Buffer& b : local_) total += b.size();
    return total;
  }

 private:
  class Buffer {
   public:
    void* get(std::size_t bytes) {
      if (bytes > size_) {
        const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
        data_.reset(std::aligned_alloc(4096, rounded));
        size_ = data_ ? rounded : 0;
        if (!data_) throw std::bad_alloc();
      }
      return data_.get();
    }
    void* data() const { return data_.get(); }
    std::size_t size() const { return size_; }

   private:
    struct Free {
      void operator()(void* p) const { std::free(p); }
    };
    std::unique_ptr<void, Free> data_;
    std::size_t size_ = 0;
  };

  Pool* pool_;
  Buffer shared_;
  std::vector<Buffer> local_;
};

}  // namespace trtmc::cpu
