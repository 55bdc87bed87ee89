#include "cc/backends/openvino/kernels/linear.h"

#include <algorithm>
#include <cstddef>

namespace trtmc::cpu {
namespace {

// A chunk should take long enough to pay for its atomic, and short enough that the threads end
// together. A matrix product also pays for its first rows, so its chunks are larger.
constexpr std::size_t kFewBytes = 64 * 1024, kManyBytes = 1024 * 1024;
constexpr int kFewPerThread = 4, kManyPerThread = 3;

struct Chunking {
  int outputs = 0;  // per chunk, a multiple of the kernel's block
  int chunks = 0;

  int of(int n) const { return (n + outputs - 1) / outputs; }
};

Chunking chunk(std::span<const LinearJob> jobs, int k, int block, int threads,
               std::size_t chunk_bytes, int chunks_per_thread) {
  std::size_t total = 0;
  for (const LinearJob& job : jobs) total += static_cast<std::size_t>(job.n);
  const std::size_t row_bytes = std::max<std::size_t>(1, static_cast<std::size_t>(k) * 2);
  std::size_t outputs = std::max<std::size_t>(1, chunk_bytes / row_bytes);
  const auto wanted = static_cast<std::size_t>(threads * chunks_per_thread);
  outputs = std::min(outputs, std::max<std::size_t>(1, total / wanted));
  outputs = std::max(outputs, (total + 59999) / 60000);  // the pool's limit on chunks
  Chunking c;
  c.outputs = static_cast<int>((outputs + static_cast<std::size_t>(block) - 1) /
                               static_cast<std::size_t>(block)) *
              block;
  for (const LinearJob& job : jobs) c.chunks += c.of(job.n);
  return c;
}

// Calls body(job, n0, n1) for the chunk with this number.
template <class Body>
void with_chunk(std::span<const LinearJob> jobs, const Chunking& c, int index, Body body) {
  for (const LinearJob& job : jobs) {
    const int count = c.of(job.n);
    if (index < count) {
      const int n0 = index * c.outputs;
      body(job, n0, std::min(job.n, n0 + c.outputs));
      return;
    }
    index -= count;
  }
}

// Runs body(index, worker, run) for all chunks, where run(job, n0, n1, worker) computes outputs of
// a job for these rows of x. `extra` bytes of each worker's memory are the caller's: the first.
template <class Body>
void for_chunks(Workspace& ws, int chunks, const float* x, int rows, int k, Compute compute,
                std::size_t extra, Body body) {
  const KernelTable& t = kernels();
  const GemmKernel& gemm = compute == Compute::kBF16 ? t.fast : t.exact;
  if (rows < gemm.min_rows) {
    ws.reserve_local(extra);
    ws.pool().run(chunks, [&](int index, int worker) {
      body(index, worker,
           [&](const LinearJob& job, int n0, int n1) { t.gemv(job, x, rows, k, n0, n1); });
    });
    return;
  }
  void* const space = ws.shared(gemm.packed_bytes(rows, k));
  const PackedRows packed{space, rows, k};
  ws.pool().run(gemm.pack_units(rows), [&](int unit, int) { gemm.pack(x, rows, k, unit, space); });
  const std::size_t skip = (extra + 63) / 64 * 64;
  ws.reserve_local(skip + gemm.scratch_bytes(rows, k));
  ws.pool().run(chunks, [&](int index, int worker) {
    void* const scratch = static_cast<std::byte*>(ws.local_at(worker)) + skip;
    body(index, worker,
         [&](const LinearJob& job, int n0, int n1) { gemm.run(job, packed, n0, n1, scratch); });
  });
}

// Token rows that are repacked at once; more would leave the second cache.
constexpr int kRowsAtOnce = 256;
constexpr std::size_t kJobsAtOnce = 8;
constexpr int kGatedOutputs = 192;  // outputs of gate and up that stay in the second cache

LinearJob from_row(LinearJob job, int row) {
  const std::size_t skip = static_cast<std::size_t>(row) * static_cast<std::size_t>(job.n);
  if (job.residual != nullptr) job.residual += skip;
  job.y += skip;
  return job;
}

// Outputs [n0, n0 + width) of a job without residual, as a job of its own.
LinearJob slice(LinearJob job, int n0, int width, int k, float* y) {
  job.weight = static_cast<const std::byte*>(job.weight) +
               static_cast<std::size_t>(n0) * static_cast<std::size_t>(k) * weight_bytes(job.type);
  if (job.bias != nullptr) job.bias += n0;
  job.n = width;
  job.y = y;
  return job;
}

// How many rows are computed at once, and chunks of what size fit the kernel for them.
struct Strategy {
  Strategy(int rows, Compute compute) {
    const KernelTable& t = kernels();
    const GemmKernel& gemm = compute == Compute::kBF16 ? t.fast : t.exact;
    few = rows < gemm.min_rows;
    step = few ? kMaxGemvRows : kRowsAtOnce;
    block = few ? 8 : gemm.block;
  }

  Chunking chunking(std::span<const LinearJob> jobs, int k, int threads) const {
    return few ? chunk(jobs, k, block, threads, kFewBytes, kFewPerThread)
               : chunk(jobs, k, block, threads, kManyBytes, kManyPerThread);
  }

  bool few = false;
  int step = 1, block = 1;
};

}  // namespace

void linear(Workspace& ws, std::span<const LinearJob> jobs, const float* x, int rows, int k,
            Compute compute) {
  const Strategy strategy(rows, compute);
  LinearJob part[kJobsAtOnce];
  for (int r = 0; r < rows; r += strategy.step) {
    const int count = std::min(strategy.step, rows - r);
    const float* from = x + static_cast<std::size_t>(r) * static_cast<std::size_t>(k);
    for (std::size_t j = 0; j < jobs.size(); j += kJobsAtOnce) {
      const std::size_t n = std::min(kJobsAtOnce, jobs.size() - j);
      for (std::size_t i = 0; i < n; ++i) part[i] = from_row(jobs[j + i], r);
      const std::span<const LinearJob> some(part, n);
      const Chunking c = strategy.chunking(some, k, ws.pool().threads());
      for_chunks(ws, c.chunks, from, count, k, compute, 0,
                 [&](int index, int, auto run) { with_chunk(some, c, index, run); });
    }
  }
}

void gated_linear(Workspace& ws, const LinearJob& gate, const LinearJob& up, Activation activation,
                  float* y, const float* x, int rows, int k, Compute compute) {
  const Strategy strategy(rows, compute);
  const LinearJob both[] = {gate, up};
  Chunking c = strategy.chunking(both, k, ws.pool().threads());
  c.outputs = std::min(c.outputs, kGatedOutputs);  // a multiple of every block
  const int n = gate.n;
  for (int r = 0; r < rows; r += strategy.step) {
    const int count = std::min(strategy.step, rows - r);
    const float* from = x + static_cast<std::size_t>(r) * static_cast<std::size_t>(k);
    const std::size_t tile = static_cast<std::size_t>(count) * static_cast<std::size_t>(c.outputs);
    auto body = [&](int index, int worker, auto run) {
      const int n0 = index * c.outputs, width = std::min(c.outputs, n - n0);
      auto* g = static_cast<float*>(ws.local_at(worker));
      run(slice(gate, n0, width, k, g), 0, width);
      run(slice(up, n0, width, k, g + tile), 0, width);
      for (int t = 0; t < count; ++t) {
        const float* row = g + static_cast<std::ptrdiff_t>(t) * width;
        kernels().gated(activation, row, row + tile,
                        y + static_cast<std::ptrdiff_t>(r + t) * n + n0, width);
      }
    };
    for_chunks(ws, c.of(n), from, count, k, compute, 2 * tile * sizeof(float), body);
  }
}

}  // namespace trtmc::cpu
