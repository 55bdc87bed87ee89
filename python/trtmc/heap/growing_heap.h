// GrowingHeap: memory whose addresses only ever grow. What was allocated later lies higher; no address is used twice.
//
// TensorRT's builder keeps objects in tables keyed by their addresses and numbers symbols in the order of those tables.
// With an ordinary heap that order depends on the holes that earlier frees left. Here the distance between two blocks
// depends on nothing but the sizes asked for in between. Fresh memory is always zero, so a byte that nobody wrote is
// the same each time as well.
//
// Blocks lie one behind the other without gaps. Physical memory goes back to the system as blocks are freed; only the
// address range is spent, of which terabytes are reserved at a fixed place (elsewhere if that is taken). Threads may
// share a heap. Knows nothing of malloc's names (see malloc.cc) nor of TensorRT.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace trtmc::heap {

class GrowingHeap {
 public:
  static constexpr std::size_t kAlignment = 16;
  // A page's memory goes when the last block that touches it does.
  static constexpr std::size_t kPage = 64 << 10;

  // `place` is where the range should start: a multiple of kPage.
  constexpr explicit GrowingHeap(std::uintptr_t place) : place_(place) {}
  GrowingHeap(const GrowingHeap&) = delete;
  GrowingHeap& operator=(const GrowingHeap&) = delete;

  // Zeroed memory above everything allocated before, or null if the system has no more. `alignment` is a power of two.
  void* allocate(std::size_t bytes, std::size_t alignment = kAlignment);
  // Gives a block of this heap back.
  void release(void* block);
  // Whether a block is of this heap.
  bool owns(const void* block) const;
  // The size that a block was asked for.
  static std::size_t size_of(const void* block);

  // Around fork(): no other thread may hold the lock when memory is copied.
  void lock();
  void unlock();

 private:
  bool reserve();
  bool make_usable(std::uintptr_t end);
  std::uint32_t& live(std::uintptr_t address) { return live_[(address - base_) / kPage]; }
  bool forget(std::uintptr_t address);

  const std::uintptr_t place_;
  std::atomic_flag busy_;
  std::uintptr_t next_ = 0, usable_ = 0;
  std::atomic<std::uintptr_t> base_ = 0, end_ = 0;  // read by `owns` without the lock
  std::uint32_t* live_ = nullptr;                   // blocks that touch a page
};

}  // namespace trtmc::heap
