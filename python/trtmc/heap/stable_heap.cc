#include "python/trtmc/heap/stable_heap.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <bit>

namespace trtmc::heap {
namespace {

constexpr std::size_t kMostReserved = std::size_t{1} << 43;
constexpr std::size_t kLeastReserved = std::size_t{1} << 28;
constexpr std::size_t kStep = std::size_t{64} << 20;  // address range made usable at once
constexpr std::size_t kPage = 4096;
constexpr std::size_t kFine = 256;  // up to here classes are 16 bytes apart, above there are eight per doubling

std::uintptr_t round_up(std::uintptr_t value, std::size_t unit) { return (value + unit - 1) & ~(unit - 1); }

std::uintptr_t address(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }

void* map(std::uintptr_t place, std::size_t bytes, int protection) {
  void* const at =
      mmap(reinterpret_cast<void*>(place), bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

void drop(std::uintptr_t begin, std::uintptr_t end) {
  madvise(reinterpret_cast<void*>(begin), round_up(end, kPage) - begin, MADV_DONTNEED);
}

// How much range to ask for first: at most half of what the process may have, so that others find room too.
std::size_t most_to_reserve() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMostReserved;
  const std::size_t half = std::bit_floor(static_cast<std::size_t>(limit.rlim_cur) / 2);
  return half < kMostReserved ? half : kMostReserved;
}

}  // namespace

void StableHeap::lock() {
  while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
}

void StableHeap::unlock() { busy_.clear(std::memory_order_release); }

std::size_t StableHeap::class_of(std::size_t bytes) {
  if (bytes <= kFine) return bytes == 0 ? 0 : (bytes - 1) / kAlignment;
  const std::size_t doubling = std::bit_width(bytes - 1) - 1;  // 2^doubling < bytes <= 2^(doubling + 1)
  const std::size_t eighth = (bytes - 1 - (std::size_t{1} << doubling)) >> (doubling - 3);
  return kFine / kAlignment + (doubling - 8) * 8 + eighth;
}

std::size_t StableHeap::class_bytes(std::size_t size_class) {
  if (size_class < kFine / kAlignment) return (size_class + 1) * kAlignment;
  const std::size_t above = size_class - kFine / kAlignment;
  const std::size_t doubling = 8 + above / 8;
  return (std::size_t{1} << doubling) + ((above % 8 + 1) << (doubling - 3));
}

// Address range without memory behind it; less of it where limits are in force.
bool StableHeap::reserve() {
  for (std::size_t bytes = most_to_reserve(); bytes >= kLeastReserved; bytes /= 2) {
    void* const range = map(place_, bytes + kSlab, PROT_NONE);  // the kernel moves it if the place is taken
    if (range == nullptr) continue;
    slabs_ = static_cast<Slab*>(map(0, bytes / kSlab * sizeof(Slab), PROT_READ | PROT_WRITE));
    if (slabs_ != nullptr) {
      const std::uintptr_t base = round_up(address(range), kSlab);
      next_ = usable_ = base;
      end_ = base + bytes;
      base_ = base;
      return true;
    }
    munmap(range, bytes + kSlab);
  }
  return false;
}

// Fresh range, whole slabs, or 0.
std::uintptr_t StableHeap::take_range(std::size_t bytes) {
  if (base_ == 0 && !reserve()) return 0;
  const std::uintptr_t begin = next_;
  if (bytes > end_ - begin) return 0;
  const std::uintptr_t after = begin + round_up(bytes, kSlab);
  if (after > usable_) {
    std::uintptr_t wanted = round_up(after, kStep);
    if (wanted > end_) wanted = end_;
    if (mprotect(reinterpret_cast<void*>(usable_), wanted - usable_, PROT_READ | PROT_WRITE) != 0) return 0;
    usable_ = wanted;
  }
  next_ = after;
  return begin;
}

std::uintptr_t StableHeap::large(std::size_t bytes, std::size_t alignment) {
  const std::uintptr_t first = take_range(bytes + (alignment > kPage ? alignment : 0));
  if (first == 0) return 0;
  const std::uintptr_t start = round_up(first, alignment);
  Slab& slab = slab_of(start);
  slab.pages = first;
  slab.bytes = bytes;
  return start;
}

void StableHeap::link(Slab* slab) {
  Slab*& head = with_room_[slab->size_class];
  slab->previous = nullptr;
  slab->next = head;
  if (head != nullptr) head->previous = slab;
  head = slab;
}

void StableHeap::unlink(Slab* slab) {
  if (slab->previous != nullptr) {
    slab->previous->next = slab->next;
  } else if (with_room_[slab->size_class] == slab) {
    with_room_[slab->size_class] = slab->next;
  }
  if (slab->next != nullptr) slab->next->previous = slab->previous;
  slab->previous = slab->next = nullptr;
}

StableHeap::Slab* StableHeap::new_slab(std::size_t size_class) {
  Slab* slab = empty_;
  if (slab != nullptr) {
    empty_ = slab->next;
  } else {
    const std::uintptr_t range = take_range(kSlab);
    if (range == 0) return nullptr;
    slab = &slab_of(range);
  }
  *slab = {.freed = nullptr,
           .fresh = start_of(slab),
           .pages = 0,
           .bytes = class_bytes(size_class),
           .previous = nullptr,
           .next = nullptr,
           .alive = 0,
           .size_class = static_cast<std::uint16_t>(size_class),
           .generation = generation_};
  link(slab);
  return slab;
}

std::uintptr_t StableHeap::small(std::size_t bytes) {
  const std::size_t size_class = class_of(bytes);
  Slab* slab = with_room_[size_class];
  if (slab == nullptr && (slab = new_slab(size_class)) == nullptr) return 0;
  std::uintptr_t block = 0;
  if (slab->freed != nullptr) {
    block = address(slab->freed);
    slab->freed = slab->freed->next;
  } else {
    block = slab->fresh;
    slab->fresh += slab->bytes;
  }
  ++slab->alive;
  const bool full = slab->freed == nullptr && slab->fresh + slab->bytes > start_of(slab) + kSlab;
  if (full) unlink(slab);
  return block;
}

void* StableHeap::allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes > kMostReserved || alignment > kMostReserved) return nullptr;
  lock();
  const bool apart = bytes >= kLarge || alignment > kAlignment;
  const std::uintptr_t start = apart ? large(bytes, alignment) : small(bytes);
  unlock();
  return reinterpret_cast<void*>(start);
}

void StableHeap::release(void* block) {
  Slab& slab = slab_of(address(block));
  if (slab.pages != 0) {
    drop(slab.pages, address(block) + slab.bytes);
    return;
  }
  lock();
  const bool was_full = slab.freed == nullptr && slab.fresh + slab.bytes > start_of(&slab) + kSlab;
  auto* const entry = static_cast<Free*>(block);
  entry->next = slab.freed;
  slab.freed = entry;
  --slab.alive;
  if (slab.generation != generation_) {  // a slab from before only ever gets emptier
    const bool done = slab.alive == 0;
    unlock();
    if (done) drop(start_of(&slab), start_of(&slab) + kSlab);
    return;
  }
  if (was_full) link(&slab);
  // The last slab of its class stays, lest one block that comes and goes cost a system call each time.
  const bool only = slab.previous == nullptr && slab.next == nullptr;
  if (slab.alive == 0 && !only) {
    unlink(&slab);
    drop(start_of(&slab), start_of(&slab) + kSlab);
    slab.next = empty_;
    empty_ = &slab;
  }
  unlock();
}

void StableHeap::start_afresh() {
  lock();
  for (Slab*& head : with_room_) head = nullptr;
  empty_ = nullptr;
  ++generation_;
  unlock();
}

bool StableHeap::owns(const void* block) const {
  const std::uintptr_t base = base_.load(std::memory_order_relaxed);
  return base != 0 && address(block) >= base && address(block) < end_.load(std::memory_order_relaxed);
}

std::size_t StableHeap::size_of(const void* block) const { return slab_of(address(block)).bytes; }

}  // namespace trtmc::heap
