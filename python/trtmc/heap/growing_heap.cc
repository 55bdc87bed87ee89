#include "python/trtmc/heap/growing_heap.h"

#include <sched.h>
#include <sys/mman.h>

namespace trtmc::heap {
namespace {

constexpr std::size_t kMostReserved = std::size_t{1} << 43;
constexpr std::size_t kLeastReserved = std::size_t{1} << 36;
constexpr std::size_t kStep = std::size_t{64} << 20;  // address range made usable at once

struct Header {
  std::size_t bytes;
  std::size_t reserved;
};
static_assert(sizeof(Header) == GrowingHeap::kAlignment);

std::uintptr_t round_up(std::uintptr_t value, std::size_t unit) { return (value + unit - 1) & ~(unit - 1); }
std::uintptr_t page_of(std::uintptr_t value) { return value & ~(GrowingHeap::kPage - 1); }

Header* header(const void* block) { return reinterpret_cast<Header*>(reinterpret_cast<std::uintptr_t>(block)) - 1; }

// The last byte of a block, its header if it has none.
std::uintptr_t last_byte(const void* block) {
  return reinterpret_cast<std::uintptr_t>(block) + GrowingHeap::size_of(block) - 1;
}

void* map(std::uintptr_t place, std::size_t bytes, int protection) {
  void* const at =
      mmap(reinterpret_cast<void*>(place), bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

void drop(std::uintptr_t begin, std::uintptr_t end) {
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

void GrowingHeap::lock() {
  while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
}

void GrowingHeap::unlock() { busy_.clear(std::memory_order_release); }

// Address range without memory behind it; less of it where limits are in force.
bool GrowingHeap::reserve() {
  for (std::size_t bytes = kMostReserved; bytes >= kLeastReserved; bytes /= 2) {
    void* const range = map(place_, bytes, PROT_NONE);  // the kernel moves it if the place is taken
    if (range == nullptr) continue;
    live_ = static_cast<std::uint32_t*>(map(0, bytes / kPage * sizeof(std::uint32_t), PROT_READ | PROT_WRITE));
    if (live_ != nullptr) {
      const std::uintptr_t start = round_up(reinterpret_cast<std::uintptr_t>(range), kPage);
      next_ = usable_ = start;
      end_ = page_of(reinterpret_cast<std::uintptr_t>(range) + bytes);
      base_ = start;
      return true;
    }
    munmap(range, bytes);
  }
  return false;
}

bool GrowingHeap::make_usable(std::uintptr_t end) {
  if (end <= usable_) return true;
  if (end > end_) return false;
  std::uintptr_t wanted = round_up(end, kStep);
  if (wanted > end_) wanted = end_;
  if (mprotect(reinterpret_cast<void*>(usable_), wanted - usable_, PROT_READ | PROT_WRITE) != 0) return false;
  usable_ = wanted;
  return true;
}

void* GrowingHeap::allocate(std::size_t bytes, std::size_t alignment) {
  if (alignment < kAlignment) alignment = kAlignment;
  if (bytes > kMostReserved || alignment > kMostReserved) return nullptr;
  lock();
  if (base_ == 0 && !reserve()) {
    unlock();
    return nullptr;
  }
  const std::uintptr_t start = round_up(next_ + sizeof(Header), alignment);
  const std::uintptr_t after = round_up(start + bytes, kAlignment);
  if (!make_usable(after)) {
    unlock();
    return nullptr;
  }
  void* const block = reinterpret_cast<void*>(start);
  *header(block) = {bytes, 0};
  const std::uintptr_t first = page_of(start - sizeof(Header)), last = page_of(last_byte(block)), old = page_of(next_);
  next_ = after;
  ++live(first);
  if (last != first) ++live(last);
  // The page that is left for good may have lost its last block while it was still being filled.
  const bool empty = old != page_of(after) && live(old) == 0;
  unlock();
  if (empty) drop(old, old + kPage);
  return block;
}

// Takes a block off the page at an address; whether that page is done with.
bool GrowingHeap::forget(std::uintptr_t address) { return --live(address) == 0 && page_of(address) != page_of(next_); }

void GrowingHeap::release(void* block) {
  const std::uintptr_t first = page_of(reinterpret_cast<std::uintptr_t>(block) - sizeof(Header));
  const std::uintptr_t last = page_of(last_byte(block));
  lock();
  const bool first_done = forget(first);
  const bool last_done = first != last && forget(last);
  unlock();
  if (first == last) {
    if (first_done) drop(first, first + kPage);
  } else {
    drop(first_done ? first : first + kPage, last_done ? last + kPage : last);
  }
}

bool GrowingHeap::owns(const void* block) const {
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t base = base_.load(std::memory_order_relaxed);
  return base != 0 && at >= base && at < end_.load(std::memory_order_relaxed);
}

std::size_t GrowingHeap::size_of(const void* block) { return header(block)->bytes; }

}  // namespace trtmc::heap
