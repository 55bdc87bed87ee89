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

void few_rows(Workspace& ws, std::span<const LinearJob> jobs, const float* x, int rows, int k) {
  const KernelTable& t = kernels();
  const Chunking c = chunk(jobs, k, 8, ws.pool().threads(), kFewBytes, kFewPerThread);
  ws.pool().run(c.chunks, [&](int index, int) {
    with_chunk(jobs, c, index,
               [&](const LinearJob& job, int n0, int n1) { t.gemv(job, x, rows, k, n0, n1); });
  });
}

void many_rows(Workspace& ws, std::span<const LinearJob> jobs, const float* x, int rows, int k,
               const GemmKernel& gemm) {
  PackedRows packed;
  void* const space = ws.shared(gemm.packed_bytes(rows, k));
  packed.data = space;
  packed.rows = rows;
  packed.k = k;
  ws.pool().run(gemm.pack_units(rows), [&](int unit, int) { gemm.pack(x, rows, k, unit, space); });
  ws.reserve_local(gemm.scratch_bytes(rows, k));
  const Chunking c = chunk(jobs, k, gemm.block, ws.pool().threads(), kManyBytes, kManyPerThread);
  ws.pool().run(c.chunks, [&](int index, int worker) {
    with_chunk(jobs, c, index, [&](const LinearJob& job, int n0, int n1) {
      gemm.run(job, packed, n0, n1, ws.local_at(worker));
    });
  });
}

// Token rows that are repacked at once; more would leave the second cache.
constexpr int kRowsAtOnce = 256;
constexpr std::size_t kJobsAtOnce = 8;

LinearJob from_row(LinearJob job, int row) {
  const std::size_t skip = static_cast<std::size_t>(row) * static_cast<std::size_t>(job.n);
  if (job.residual != nullptr) job.residual += skip;
  job.y += skip;
  return job;
}

}  // namespace

void linear(Workspace& ws, std::span<const LinearJob> jobs, const float* x, int rows, int k,
            Compute compute) {
  const KernelTable& t = kernels();
  const GemmKernel& gemm = compute == Compute::kBF16 ? t.fast : t.exact;
  const bool few = rows < gemm.min_rows;
  const int step = few ? kMaxGemvRows : kRowsAtOnce;
  LinearJob part[kJobsAtOnce];
  for (int r = 0; r < rows; r += step) {
    const int count = std::min(step, rows - r);
    const float* from = x + static_cast<std::size_t>(r) * static_cast<std::size_t>(k);
    for (std::size_t j = 0; j < jobs.size(); j += kJobsAtOnce) {
      const std::size_t n = std::min(kJobsAtOnce, jobs.size() - j);
      for (std::size_t i = 0; i < n; ++i) part[i] = from_row(jobs[j + i], r);
      if (few) {
        few_rows(ws, {part, n}, from, count, k);
      } else {
        many_rows(ws, {part, n}, from, count, k, gemm);
      }
    }
  }
}

}  // namespace trtmc::cpu
