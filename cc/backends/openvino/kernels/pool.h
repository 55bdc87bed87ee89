// Pool: a few threads that run many very short parallel loops.
//
// A decoder step is some 200 loops of 5-100 µs, so starting one must cost well under a
// microsecond: workers spin for a moment after each loop and sleep only when nothing comes.
// Chunks are taken from one atomic counter, and a loop is finished when all chunks are, not when
// all workers have answered: the caller can do everything alone if the system gave the other
// CPUs away. Knows nothing of tensors.
//
//   pool.run(chunks, [&](int chunk, int worker) { … });
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace trtmc::cpu {

class Pool {
 public:
  // `threads` counts the caller; 1 makes no thread at all. If the system refuses a thread, the
  // pool goes on with fewer.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(chunk, worker) once for each chunk in [0, chunks), chunks ≤ 65535 and workers in
  // [0, threads()); returns when all are done and their writes are visible. `body` must not throw
  // and must not call run(). Callers from several threads take turns.
  template <class Body>
  void run(int chunks, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run_erased(
        chunks,
        [](void* ctx, int chunk, int worker) { (*static_cast<Plain*>(ctx))(chunk, worker); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Call = void (*)(void*, int, int);

  void run_erased(int chunks, Call call, void* ctx);
  void work(int worker);
  bool take(std::uint64_t& ticket);

  // generation (32) · chunks (16) · next chunk (16). One word, so that a late worker can never
  // take a chunk of a loop that it did not see.
  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  alignas(64) std::atomic<int> done_{0};
  alignas(64) std::atomic<Call> call_{nullptr};
  std::atomic<void*> ctx_{nullptr};
  std::atomic<int> sleepers_{0};
  std::atomic<std::uint32_t> wake_{0};
  std::atomic<bool> stop_{false};
  std::mutex caller_;
  std::vector<std::thread> workers_;
};

}  // namespace trtmc::cpu
