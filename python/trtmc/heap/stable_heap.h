// StableHeap: memory whose layout is decided by the sequence of requests and by nothing else.
//
// TensorRT's builder keeps objects in tables keyed by their addresses and numbers symbols in the order of those tables.
// Two keys meet in one bucket or not by the distance between them. In an ordinary heap that distance depends on the
// holes that everything else in the process has left; here the same requests give the same distances, and the same
// addresses as long as the range at the fixed place is free.
//
// Small blocks share slabs, one size class to a slab; a slab that is empty again goes back to the system and is used for
// the next class that needs one. Large blocks have pages of their own, which go back when they are freed; their addresses
// are not used again (terabytes of address range are reserved). Threads may share a heap, but then their race decides
// the layout. Knows nothing of malloc's names (see malloc.cc) nor of TensorRT.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace trtmc::heap {

class StableHeap {
 public:
  static constexpr std::size_t kAlignment = 16;
  static constexpr std::size_t kLarge = 16 << 10;  // from this size on a block has pages of its own
  static constexpr std::size_t kSlab = 64 << 10;

  // `place` is where the range should start: a multiple of kSlab.
  constexpr explicit StableHeap(std::uintptr_t place) : place_(place) {}
  StableHeap(const StableHeap&) = delete;
  StableHeap& operator=(const StableHeap&) = delete;

  // Memory of that size, or null if the system has no more. `alignment` is a power of two.
  void* allocate(std::size_t bytes, std::size_t alignment = kAlignment);
  // Gives a block of this heap back.
  void release(void* block);
  // The next requests are served as in a new heap, at higher addresses. Blocks from before stay valid.
  void start_afresh();
  // Whether a block is of this heap.
  bool owns(const void* block) const;
  // How many bytes a block of this heap has: at least what was asked for.
  std::size_t size_of(const void* block) const;

  // Around fork(): no other thread may hold the lock when memory is copied.
  void lock();
  void unlock();

 private:
  struct Free {
    Free* next;
  };
  // One per kSlab of the range. For a large block it is the slab that the block starts in.
  struct Slab {
    Free* freed;             // blocks of it that were freed
    std::uintptr_t fresh;    // where the blocks begin that were never used
    std::uintptr_t pages;    // a large block's first page; 0: a slab of small blocks
    std::size_t bytes;       // of each block
    Slab *previous, *next;   // in the list of its class, or of empty slabs (next alone)
    std::uint32_t alive;
    std::uint16_t size_class;
    std::uint16_t generation;
  };
  static constexpr std::size_t kClasses = 64;

  static std::size_t class_of(std::size_t bytes);
  static std::size_t class_bytes(std::size_t size_class);
  bool reserve();
  std::uintptr_t take_range(std::size_t bytes);
  std::uintptr_t large(std::size_t bytes, std::size_t alignment);
  std::uintptr_t small(std::size_t bytes);
  Slab* new_slab(std::size_t size_class);
  void link(Slab* slab);
  void unlink(Slab* slab);
  Slab& slab_of(std::uintptr_t address) const { return slabs_[(address - base_) / kSlab]; }
  std::uintptr_t start_of(const Slab* slab) const { return base_ + static_cast<std::uintptr_t>(slab - slabs_) * kSlab; }

  const std::uintptr_t place_;
  std::atomic_flag busy_;
  std::uintptr_t next_ = 0, usable_ = 0;            // the range below `next_` is given out
  std::atomic<std::uintptr_t> base_ = 0, end_ = 0;  // read by `owns` without the lock
  Slab* slabs_ = nullptr;
  Slab* with_room_[kClasses] = {};  // per class, the slab used last first
  Slab* empty_ = nullptr;
  std::uint16_t generation_ = 0;  // counts start_afresh
};

}  // namespace trtmc::heap
