#include "cc/backends/openvino/kernels/pool.h"

#include <sched.h>

#include <chrono>
#include <system_error>

namespace trtmc::cpu {
namespace {

constexpr std::uint64_t kNextMask = 0xFFFF;
constexpr int kMaxChunks = 0xFFFF;
constexpr auto kSpinTime = std::chrono::microseconds(300);
constexpr int kSpinsPerClock = 64;  // reading the clock costs more than a pause
constexpr int kSpinsBeforeYield = 4096;

inline void pause() { __builtin_ia32_pause(); }
inline std::uint32_t generation_of(std::uint64_t ticket) { return ticket >> 32; }
inline int chunks_of(std::uint64_t ticket) { return (ticket >> 16) & 0xFFFF; }

}  // namespace

Pool::Pool(int threads) {
  for (int i = 1; i < threads; ++i) {
    try {
      workers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error&) {
      break;
    }
  }
}

Pool::~Pool() {
  stop_.store(true);
  wake_.fetch_add(1);
  wake_.notify_all();
  for (std::thread& t : workers_) t.join();
}

// Takes the next chunk, or says that the current loop has none left. The counter is read first:
// an exhausted one is not incremented, so it cannot overflow into the chunk count.
bool Pool::take(std::uint64_t& ticket) {
  std::uint64_t seen = ticket_.load(std::memory_order_acquire);
  while (static_cast<int>(seen & kNextMask) < chunks_of(seen)) {
    if (ticket_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) {
      ticket = seen;
      return true;
    }
  }
  ticket = seen;
  return false;
}

void Pool::run_erased(int chunks, Call call, void* ctx) {
  if (chunks <= 0) return;
  if (chunks == 1 || workers_.empty()) {
    for (int i = 0; i < chunks; ++i) call(ctx, i, 0);
    return;
  }
  const std::lock_guard<std::mutex> turn(caller_);
  for (int first = 0; first < chunks; first += kMaxChunks) {
    // More chunks than the counter holds are run in several loops; `first` is 0 in practice.
    struct Offset {
      Call call;
      void* ctx;
      int first;
    } offset{call, ctx, first};
    const int count = chunks - first < kMaxChunks ? chunks - first : kMaxChunks;
    done_.store(0, std::memory_order_relaxed);
    if (first == 0) {
      call_.store(call, std::memory_order_relaxed);
      ctx_.store(ctx, std::memory_order_relaxed);
    } else {
      call_.store(
          [](void* c, int i, int w) {
            auto* o = static_cast<Offset*>(c);
            o->call(o->ctx, i + o->first, w);
          },
          std::memory_order_relaxed);
      ctx_.store(&offset, std::memory_order_relaxed);
    }
    const std::uint64_t generation = generation_of(ticket_.load(std::memory_order_relaxed)) + 1;
    ticket_.store((generation << 32) | (static_cast<std::uint64_t>(count) << 16),
                  std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) {
      wake_.fetch_add(1, std::memory_order_seq_cst);
      wake_.notify_all();
    }
    int mine = 0;
    std::uint64_t ticket = 0;
    const Call now = call_.load(std::memory_order_relaxed);
    void* const now_ctx = ctx_.load(std::memory_order_relaxed);
    while (take(ticket)) {
      now(now_ctx, static_cast<int>(ticket & kNextMask), 0);
      ++mine;
    }
    if (mine > 0) done_.fetch_add(mine, std::memory_order_acq_rel);
    for (int spins = 0; done_.load(std::memory_order_acquire) != count; ++spins) {
      if (spins < kSpinsBeforeYield) {
        pause();
      } else {
        sched_yield();  // a worker holds a chunk but not a CPU
      }
    }
  }
}

void Pool::work(int worker) {
  std::uint32_t seen = 0;
  auto idle_since = std::chrono::steady_clock::now();
  int spins = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    if (generation_of(ticket) != seen) {
      while (take(ticket)) {
        // Holding a chunk keeps the loop, its body and its context alive.
        call_.load(std::memory_order_relaxed)(ctx_.load(std::memory_order_relaxed),
                                              static_cast<int>(ticket & kNextMask), worker);
        // Counted one by one: the loop may end, and the next begin, between two chunks.
        done_.fetch_add(1, std::memory_order_acq_rel);
      }
      seen = generation_of(ticket);
      idle_since = std::chrono::steady_clock::now();
      spins = 0;
      continue;
    }
    pause();
    if (++spins % kSpinsPerClock != 0) continue;
    if (std::chrono::steady_clock::now() - idle_since < kSpinTime) continue;
    const std::uint32_t token = wake_.load(std::memory_order_seq_cst);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    // Look once more: a loop published before the line above saw no sleeper to wake.
    if (generation_of(ticket_.load(std::memory_order_seq_cst)) == seen && !stop_.load()) {
      wake_.wait(token, std::memory_order_seq_cst);
    }
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    idle_since = std::chrono::steady_clock::now();
    spins = 0;
  }
}

}  // namespace trtmc::cpu
