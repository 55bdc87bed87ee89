#include "cc/backends/openvino/kernels/roofs.h"

#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "cc/backends/openvino/kernels/cpu.h"

// By pragma and after the standard headers, for the reason given in isa_avx512.cc.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("amx-tile,amx-bf16,avx512f,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC target("amx-tile,amx-bf16,avx512f,avx2,fma")
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace trtmc::cpu {
namespace {

double seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class Body>
double best_of(int runs, Body body) {
  double best = 1e30;
  for (int i = 0; i < runs; ++i) {
    const double before = seconds();
    body();
    best = std::min(best, seconds() - before);
  }
  return best;
}

volatile float sink;

struct alignas(64) TileConfig {
  std::uint8_t head[16] = {1};
  std::uint16_t columns[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig kTileConfig;  // static for the reason given in gemm_amx.cc

void fma_loop(int n) {
  __m512 a[16];
  for (int i = 0; i < 16; ++i) a[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 b = _mm512_set1_ps(0.999f);
  for (int j = 0; j < n; ++j) {
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) a[i] = _mm512_fmadd_ps(a[i], b, b);
  }
  for (int i = 1; i < 16; ++i) a[0] = _mm512_add_ps(a[0], a[i]);
  sink = _mm512_reduce_add_ps(a[0]);
}

void amx_loop(int n) {
  _tile_loadconfig(&kTileConfig);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (int j = 0; j < n; ++j) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}

void read_loop(const std::vector<float>& v) {
  __m512 s[4] = {};
  for (std::size_t i = 0; i + 64 <= v.size(); i += 64) {
    for (int j = 0; j < 4; ++j) s[j] = _mm512_add_ps(s[j], _mm512_loadu_ps(&v[i + j * 16]));
  }
  sink = _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(s[0], s[1]), _mm512_add_ps(s[2], s[3])));
}

}  // namespace

void print_roofs() {
  if (detected_isa() < Isa::kAvx512) {
    std::printf("no AVX-512: roofs are not measured\n");
    return;
  }
  constexpr int kLoops = 100000;
  const double fma = best_of(20, [] { fma_loop(kLoops); });
  std::printf("roof: float32 FMA %.0f GFLOP/s\n", kLoops * 16.0 * 32 / fma / 1e9);
  if (detected_isa() >= Isa::kAmx) {
    const double amx = best_of(20, [] { amx_loop(kLoops); });
    std::printf("roof: AMX bfloat16 %.0f GFLOP/s (%.0f for an exact float16 product in 5 terms)\n",
                kLoops * 4.0 * 16384 / amx / 1e9, kLoops * 4.0 * 16384 / amx / 5e9);
  }
  for (const std::size_t mib : {1, 24, 512}) {
    const std::vector<float> v(mib << 18, 1.0f);
    const double s = best_of(mib > 100 ? 8 : 100, [&] { read_loop(v); });
    std::printf("roof: read %4zu MiB %.1f GB/s\n", mib, static_cast<double>(mib << 20) / s / 1e9);
  }
}

}  // namespace trtmc::cpu

#if defined(__clang__)
#pragma clang attribute pop
#endif
