// How near the matrix kernels come to this machine's roofs. Not a test: prints a table.
//
// Times are CPU times of one thread, the best of many short runs, so that other load on the
// machine disturbs little; memory bandwidth is disturbed all the same. Usage:
//   linear_benchmark [rows …]      (default 1 4 16 128)

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cc/backends/openvino/kernels/linear.h"
#include "cc/backends/openvino/kernels/roofs.h"
#include "cc/backends/openvino/kernels/testing.h"

namespace trtmc::cpu {
namespace {

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class Body>
double best_seconds(Body body) {
  double best = 1e30;
  const double start = cpu_seconds();
  for (int i = 0; i < 200 && (i < 3 || cpu_seconds() - start < 0.3); ++i) {
    const double before = cpu_seconds();
    body();
    best = std::min(best, cpu_seconds() - before);
  }
  return best;
}

struct Size {
  const char* name;
  int n, k;
};

constexpr Size kSizes[] = {{"qkv", 960, 576},
                           {"o", 576, 576},
                           {"gate/up", 3072, 576},
                           {"down", 576, 1536},
                           {"head", 49152, 576}};

void measure(Isa isa, WeightType type, Compute compute, int rows, const Size& size) {
  force_isa(isa);
  Pool pool(1);
  Workspace ws(pool);
  const std::size_t bytes = static_cast<std::size_t>(size.n) * size.k * weight_bytes(type);
  static std::vector<std::byte> w;
  if (w.size() < bytes) {
    w.resize(bytes);
    for (std::size_t i = 1; i < w.size(); i += 2) w[i] = std::byte{0x20};
  }
  const auto x = testing::random_floats(static_cast<std::size_t>(rows) * size.k, 2);
  std::vector<float> y(static_cast<std::size_t>(rows) * size.n);
  const LinearJob job{w.data(), type, size.n, nullptr, nullptr, y.data()};
  const double s = best_seconds([&] { linear(ws, {&job, 1}, x.data(), rows, size.k, compute); });
  const double flops = 2.0 * rows * size.n * size.k;
  std::printf("%-8s %-5s %-5s rows %4d  %-8s %9.1f us  %8.1f GFLOP/s  %6.1f GB/s\n",
              std::string(isa_name(isa)).c_str(),
              type == WeightType::kF16    ? "f16"
              : type == WeightType::kBF16 ? "bf16"
                                          : "f32",
              compute == Compute::kF32 ? "exact" : "fast", rows, size.name, s * 1e6,
              flops / s / 1e9, static_cast<double>(bytes) / s / 1e9);
}

}  // namespace
}  // namespace trtmc::cpu

int main(int argc, char** argv) {
  using namespace trtmc::cpu;
  print_roofs();
  std::vector<int> rows;
  for (int i = 1; i < argc; ++i) rows.push_back(std::atoi(argv[i]));
  if (rows.empty()) rows = {1, 4, 16, 128};
  for (const Isa isa : available_isas()) {
    for (const int r : rows) {
      for (const Size& size : kSizes) {
        if (r > 1 && size.n > 10000) continue;
        if (isa == Isa::kPortable && size.n > 2000) continue;
        measure(isa, WeightType::kF16, Compute::kF32, r, size);
      }
      measure(isa, WeightType::kBF16, Compute::kF32, r, kSizes[2]);
      measure(isa, WeightType::kF16, Compute::kBF16, r, kSizes[2]);
    }
  }
}
