// The two limits of this machine that no runtime can pass: read bandwidth and multiply-add peak, on N threads.
//
// Knows nothing of models. Prints one JSON line; medians of several passes, buffers far larger than the caches.
//
//   g++ -O3 -march=native -fopenmp -std=c++20 roofs.cc -o roofs && ./roofs [THREADS] [MIB]
#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kLanes = 16;
typedef float Vec __attribute__((vector_size(kLanes * sizeof(float)), aligned(64)));

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

volatile float g_sink = 0;

// Sums one slice with software prefetch ahead of the loads; returns something that depends on every element.
float sum_slice(const Vec* data, size_t count) {
  Vec a{}, b{}, c{}, d{};
  for (size_t i = 0; i + 4 <= count; i += 4) {
    for (int line = 0; line < 4; ++line) __builtin_prefetch(data + i + 64 + line, 0, 0);
    a += data[i];
    b += data[i + 1];
    c += data[i + 2];
    d += data[i + 3];
  }
  const Vec all = a + b + c + d;
  float total = 0;
  for (int lane = 0; lane < kLanes; ++lane) total += all[lane];
  return total;
}

double read_gb_per_s(int threads, size_t bytes, bool huge_pages) {
  auto* data = static_cast<Vec*>(std::aligned_alloc(2U << 20U, bytes));
  madvise(data, bytes, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  const size_t count = bytes / sizeof(Vec);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (size_t i = 0; i < count; ++i) data[i] = Vec{} + 1.0F;
  std::vector<double> rates;
  for (int pass = 0; pass < 21; ++pass) {
    const double begin = omp_get_wtime();
    float total = 0;
#pragma omp parallel num_threads(threads) reduction(+ : total)
    {
      const size_t part = count / static_cast<size_t>(threads);
      total += sum_slice(data + part * static_cast<size_t>(omp_get_thread_num()), part);
    }
    rates.push_back(static_cast<double>(bytes) / (omp_get_wtime() - begin) / 1e9);
    g_sink = total;
  }
  std::free(data);
  return median(rates);
}

double fma_gflops(int threads) {
  constexpr int kChains = 12;
  constexpr int64_t kSteps = 4'000'000;
  std::vector<double> rates;
  for (int pass = 0; pass < 5; ++pass) {
    const double begin = omp_get_wtime();
#pragma omp parallel num_threads(threads)
    {
      Vec chain[kChains];
      for (auto& c : chain) c = Vec{} + static_cast<float>(omp_get_thread_num() + 1);
      const Vec factor = Vec{} + 0.999999F, addend = Vec{} + 1e-6F;
      for (int64_t i = 0; i < kSteps; ++i) {
        for (auto& c : chain) c = c * factor + addend;
      }
      float total = 0;
      for (auto& c : chain) total += c[0];
      g_sink = total;
    }
    const double operations = 2.0 * kLanes * kChains * static_cast<double>(kSteps) * threads;
    rates.push_back(operations / (omp_get_wtime() - begin) / 1e9);
  }
  return median(rates);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const size_t bytes = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 512) << 20U;
  std::printf(
      "{\"threads\":%d,\"read_gb_per_s_small_pages\":%.1f,\"read_gb_per_s_huge_pages\":%.1f,"
      "\"fp32_gflops\":%.0f}\n",
      threads, read_gb_per_s(threads, bytes, false), read_gb_per_s(threads, bytes, true), fma_gflops(threads));
  return 0;
}
