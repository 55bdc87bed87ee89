// malloc, operator new and their relatives for a process that builds engines: put in place with LD_PRELOAD.
//
// What the one library named by `trtmc_heap_serve` asks for comes from a StableHeap, so that its addresses do not
// depend on anything else in the process; everybody else keeps glibc's heap. Who asks is told by the return address.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>

#include "python/trtmc/heap/stable_heap.h"

#define TRTMC_EXPORT [[gnu::visibility("default"), gnu::noinline]]
#define CALLER reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

using trtmc::heap::StableHeap;

constinit StableHeap heap{0x100000000000};
constinit std::atomic<std::uintptr_t> code_begin{0}, code_end{0};  // of the library that is served

bool served(std::uintptr_t caller) {
  return caller >= code_begin.load(std::memory_order_relaxed) && caller < code_end.load(std::memory_order_relaxed);
}

constinit std::atomic<bool> spilled{false};  // the range is used up, glibc's heap had to help

// Zeroed only as far as StableHeap's is: callers that need zeros see to it.
void* from_heap(std::size_t bytes, std::size_t alignment = StableHeap::kAlignment) {
  void* block = heap.allocate(bytes, alignment);
  if (block == nullptr) {
    block = __libc_memalign(alignment, bytes);
    if (block != nullptr) spilled = true;
  }
  return block;
}

void* take(std::uintptr_t caller, std::size_t bytes) {
  return served(caller) ? from_heap(bytes) : __libc_malloc(bytes);
}

void* take_aligned(std::uintptr_t caller, std::size_t bytes, std::size_t alignment) {
  return served(caller) ? from_heap(bytes, alignment) : __libc_memalign(alignment, bytes);
}

void* or_throw(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

// The executable part of the library whose file name starts with the given one.
int find_library(dl_phdr_info* info, std::size_t, void* name) {
  const char* const wanted = static_cast<const char*>(name);
  const char* const slash = std::strrchr(info->dlpi_name, '/');
  if (std::strncmp(slash == nullptr ? info->dlpi_name : slash + 1, wanted, std::strlen(wanted)) != 0) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    code_begin = info->dlpi_addr + part.p_vaddr;
    code_end = info->dlpi_addr + part.p_vaddr + part.p_memsz;
    return 1;
  }
  return 0;
}

[[gnu::constructor]] void survive_fork() {
  pthread_atfork([] { heap.lock(); }, [] { heap.unlock(); }, [] { heap.unlock(); });
}

}  // namespace

extern "C" {

// From now on the loaded library whose file name starts with `name` is served by the stable heap; 0 if there is none.
TRTMC_EXPORT int trtmc_heap_serve(const char* name) {
  return dl_iterate_phdr(find_library, const_cast<char*>(name));
}

// What the served library asks for from now on is laid out as in a process that has built nothing yet.
TRTMC_EXPORT void trtmc_heap_start_afresh() { heap.start_afresh(); }

// Whether some library is, and the range has been large enough for all that it asked for.
TRTMC_EXPORT int trtmc_heap_serves() { return code_end.load() != 0 && !spilled.load() ? 1 : 0; }

TRTMC_EXPORT void* malloc(std::size_t bytes) { return take(CALLER, bytes); }

TRTMC_EXPORT void free(void* block) {
  if (!heap.owns(block)) return __libc_free(block);
  const int kept = errno;
  heap.release(block);
  errno = kept;
}

TRTMC_EXPORT void* calloc(std::size_t count, std::size_t each) {
  if (!served(CALLER)) return __libc_calloc(count, each);
  std::size_t bytes = 0;
  void* const block = from_heap(__builtin_mul_overflow(count, each, &bytes) ? SIZE_MAX : bytes);
  if (block != nullptr && (bytes < StableHeap::kLarge || !heap.owns(block))) std::memset(block, 0, bytes);
  return block;
}

TRTMC_EXPORT void* realloc(void* block, std::size_t bytes) {
  if (block == nullptr) return take(CALLER, bytes);
  if (!heap.owns(block)) return __libc_realloc(block, bytes);
  if (bytes == 0) {
    heap.release(block);
    return nullptr;
  }
  const std::size_t before = heap.size_of(block);
  if (bytes <= before && bytes >= before / 2) return block;
  void* const moved = from_heap(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, before < bytes ? before : bytes);
  heap.release(block);
  return moved;
}

TRTMC_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) { return take_aligned(CALLER, bytes, alignment); }

TRTMC_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return take_aligned(CALLER, bytes, alignment);
}

TRTMC_EXPORT int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* const block = take_aligned(CALLER, bytes, alignment);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}

TRTMC_EXPORT std::size_t malloc_usable_size(void* block) {
  using Function = std::size_t (*)(void*);
  static const auto glibc = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return heap.owns(block) ? heap.size_of(block) : glibc(block);
}

}  // extern "C"

TRTMC_EXPORT void* operator new(std::size_t bytes) { return or_throw(take(CALLER, bytes)); }
TRTMC_EXPORT void* operator new[](std::size_t bytes) { return or_throw(take(CALLER, bytes)); }
TRTMC_EXPORT void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return take(CALLER, bytes); }
TRTMC_EXPORT void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return take(CALLER, bytes); }
TRTMC_EXPORT void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return or_throw(take_aligned(CALLER, bytes, static_cast<std::size_t>(alignment)));
}
TRTMC_EXPORT void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return or_throw(take_aligned(CALLER, bytes, static_cast<std::size_t>(alignment)));
}
TRTMC_EXPORT void operator delete(void* block) noexcept { free(block); }
TRTMC_EXPORT void operator delete[](void* block) noexcept { free(block); }
TRTMC_EXPORT void operator delete(void* block, std::size_t) noexcept { free(block); }
TRTMC_EXPORT void operator delete[](void* block, std::size_t) noexcept { free(block); }
TRTMC_EXPORT void operator delete(void* block, std::align_val_t) noexcept { free(block); }
TRTMC_EXPORT void operator delete[](void* block, std::align_val_t) noexcept { free(block); }
TRTMC_EXPORT void operator delete(void* block, std::size_t, std::align_val_t) noexcept { free(block); }
TRTMC_EXPORT void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { free(block); }
