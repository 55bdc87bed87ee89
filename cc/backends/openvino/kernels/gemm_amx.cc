#include "cc/backends/openvino/kernels/gemm_amx.h"

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

// By pragma and after the standard headers, for the reason given in isa_avx512.cc.
#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c"))), \
    apply_to = function)
#else
#pragma GCC target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false, from the headers of gcc 12
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace trtmc::cpu {
namespace {

constexpr int kTile = 16;  // rows of a tile: matrix rows or tokens
constexpr int kStep = 32;  // k per tile product
constexpr std::size_t kTileBytes = 1024;
constexpr std::size_t kAhead = 6144;  // bytes of weights that are on their way from memory
constexpr int kBlock = 2 * kTile;     // matrix rows and tokens per register block

struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t columns[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);
// Static: gcc believes that loading a configuration reads its first 8 bytes only, and would drop
// the stores to the rest of a local one.
constexpr TileConfig kTileConfig;

int steps(int k) { return (k + kStep - 1) / kStep; }
int token_tiles(int rows) { return (rows + kBlock - 1) / kBlock * 2; }

__mmask16 lanes(int n) {
  return n <= 0 ? 0 : n >= kTile ? 0xFFFF : static_cast<__mmask16>((1u << n) - 1);
}

// Halves away from zero; the remainder x - rounded is exact.
__m512i bf16_bits(__m512 x) {
  return _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
}
__m512 bf16_value(__m512i bits) {
  return _mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32(~0xFFFF)));
}
// Pairs of bfloat16 from the upper halves: element i of `a` below element i of `b`.
__m512i pack_pairs(__m512i a, __m512i b) {
  return _mm512_mask_blend_epi16(0xAAAAAAAA, _mm512_srli_epi32(a, 16), b);
}

// Splits 16 + 16 numbers to kTerms bfloat16 terms, largest first.
template <int kTerms>
void split(__m512 a, __m512 b, __m512i* terms) {
  for (int i = 0; i < kTerms; ++i) {
    const __m512i ba = bf16_bits(a), bb = bf16_bits(b);
    terms[i] = pack_pairs(ba, bb);
    if (i + 1 < kTerms) {
      a = _mm512_sub_ps(a, bf16_value(ba));
      b = _mm512_sub_ps(b, bf16_value(bb));
    }
  }
}

void transpose(__m512i* r) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xDD);
    t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xDD);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xDD);
    r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xDD);
  }
}

// Tokens: [tile][step][term] tiles; row i of a tile holds, for 16 tokens, elements i and i + 16.
template <int kTerms>
std::size_t packed_bytes(int rows, int k) {
  return static_cast<std::size_t>(token_tiles(rows)) * steps(k) * kTerms * kTileBytes;
}

template <int kTerms>
void pack(const float* x, int rows, int k, int tile, void* packed) {
  auto* out = static_cast<std::byte*>(packed) +
              static_cast<std::size_t>(tile) * steps(k) * kTerms * kTileBytes;
  for (int k0 = 0; k0 < k; k0 += kStep) {
    __m512i terms[kTerms][kTile];
    const __mmask16 low = lanes(k - k0), high = lanes(k - k0 - kTile);
    for (int t = 0; t < kTile; ++t) {
      const int token = tile * kTile + t;
      __m512i part[kTerms] = {};
      if (token < rows) {
        const float* p = x + static_cast<std::size_t>(token) * k + k0;
        const __m512 b = high ? _mm512_maskz_loadu_ps(high, p + kTile) : _mm512_setzero_ps();
        split<kTerms>(_mm512_maskz_loadu_ps(low, p), b, part);
      }
      for (int i = 0; i < kTerms; ++i) terms[i][t] = part[i];
    }
    for (int i = 0; i < kTerms; ++i, out += kTileBytes) {
      transpose(terms[i]);
      for (int r = 0; r < kTile; ++r) _mm512_store_si512(out + r * 64, terms[i][r]);
    }
  }
}

int pack_units(int rows) { return token_tiles(rows); }

struct HalfWeight {
  static constexpr int kTerms = 2;
  static __m512 load(const void* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  }
  static __m512 load(const void* p, __mmask16 m) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(m, p));
  }
};
struct BrainWeight {
  static constexpr int kTerms = 1;
  static __m512 widen(__m256i v) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
  }
  static __m512 load(const void* p) {
    return widen(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  }
  static __m512 load(const void* p, __mmask16 m) { return widen(_mm256_maskz_loadu_epi16(m, p)); }
};
struct FloatWeight {
  static constexpr int kTerms = 3;
  static __m512 load(const void* p) { return _mm512_loadu_ps(p); }
  static __m512 load(const void* p, __mmask16 m) { return _mm512_maskz_loadu_ps(m, p); }
};

// Bytes between two steps of packed weights: a line more than the tiles, so that the steps of one
// row do not all fall into the same sets of the first cache.
constexpr std::size_t step_stride(int terms) { return terms * kTileBytes + 64; }

// Turns 32 matrix rows to tiles [2][step][term], a bit at a time: the vector unit does this for
// the next rows while the tile unit multiplies the present ones.
template <class W, int kTerms>
class WeightFeed {
 public:
  // `count` rows from `source`, the other rows are zero.
  void start(const std::byte* source, std::size_t bytes, int count, int k, std::byte* out) {
    from_ = source;
    bytes_ = bytes;
    count_ = count;
    k_ = k;
    out_ = out;
    row_ = 0;
    k0_ = 0;
    to_ = out;
  }
  void stop() { row_ = kBlock; }

  // Converts up to `units` times 32 elements of one row.
  inline void advance(int units) {
    for (; units > 0 && row_ < kBlock; --units) {
      __m512i part[kTerms] = {};
      if (row_ < count_) {
        const std::byte* p = from_ + k0_ * bytes_;
        // A unit is about one line of 16-bit weights: this asks for each line once.
        _mm_prefetch(reinterpret_cast<const char*>(p) + kAhead, _MM_HINT_T0);
        if (k0_ + kStep <= k_) {
          split<kTerms>(W::load(p), W::load(p + kTile * bytes_), part);
        } else {
          const __mmask16 low = lanes(k_ - k0_), high = lanes(k_ - k0_ - kTile);
          const __m512 b = high ? W::load(p + kTile * bytes_, high) : _mm512_setzero_ps();
          split<kTerms>(W::load(p, low), b, part);
        }
      }
      for (int i = 0; i < kTerms; ++i) _mm512_store_si512(to_ + i * kTileBytes, part[i]);
      to_ += step_stride(kTerms);
      k0_ += kStep;
      if (k0_ >= k_) next_row();
    }
  }
  void finish() { advance(kBlock * steps(k_)); }

 private:
  void next_row() {
    ++row_;
    k0_ = 0;
    from_ += static_cast<std::size_t>(k_) * bytes_;
    to_ = out_ + (row_ / kTile) * (steps(k_) * step_stride(kTerms)) + (row_ % kTile) * 64;
  }

  const std::byte* from_ = nullptr;
  std::size_t bytes_ = 2;
  int count_ = 0, k_ = 0, row_ = kBlock, k0_ = 0;
  std::byte* out_ = nullptr;
  std::byte* to_ = nullptr;
};

// Tile registers: 0-3 sums, 4-5 matrix rows, 6-7 tokens.
#define TRTMC_LOAD_W(term)                      \
  _tile_loadd(4, w0 + (term) * kTileBytes, 64); \
  _tile_loadd(5, w1 + (term) * kTileBytes, 64)
#define TRTMC_LOAD_X(term)                      \
  _tile_loadd(6, x0 + (term) * kTileBytes, 64); \
  _tile_loadd(7, x1 + (term) * kTileBytes, 64)
#define TRTMC_PRODUCTS()   \
  _tile_dpbf16ps(0, 4, 6); \
  _tile_dpbf16ps(1, 4, 7); \
  _tile_dpbf16ps(2, 5, 6); \
  _tile_dpbf16ps(3, 5, 7)

// Sums of 32 matrix rows x 32 tokens to sums [4][16][16]. Consecutive products share an operand.
// Keeping blocks of k in the first cache was tried: no gain, tile loads hide behind products.
template <int kWTerms, int kXTerms, class Feed>
void tile_block(const std::byte* w0, const std::byte* w1, const std::byte* x0, const std::byte* x1,
                int k, Feed& feed, int units, float* sums) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int s = steps(k); s > 0; --s) {
    if constexpr (kXTerms == 1) {
      TRTMC_LOAD_W(0);
      TRTMC_LOAD_X(0);
      TRTMC_PRODUCTS();
    } else {
      TRTMC_LOAD_X(0);
      if constexpr (kWTerms == 3) {
        TRTMC_LOAD_W(2);
        TRTMC_PRODUCTS();
      }
      if constexpr (kWTerms >= 2) {
        TRTMC_LOAD_W(1);
        TRTMC_PRODUCTS();
        TRTMC_LOAD_X(1);
        TRTMC_PRODUCTS();
        TRTMC_LOAD_W(0);
        TRTMC_PRODUCTS();
        TRTMC_LOAD_X(2);
        TRTMC_PRODUCTS();
        TRTMC_LOAD_X(0);
        TRTMC_PRODUCTS();
      } else {
        TRTMC_LOAD_W(0);
        TRTMC_PRODUCTS();
        TRTMC_LOAD_X(1);
        TRTMC_PRODUCTS();
        TRTMC_LOAD_X(2);
        TRTMC_PRODUCTS();
      }
    }
    feed.advance(units);
    w0 += step_stride(kWTerms);
    w1 += step_stride(kWTerms);
    x0 += kXTerms * kTileBytes;
    x1 += kXTerms * kTileBytes;
  }
  _tile_stored(0, sums, 64);
  _tile_stored(1, sums + 256, 64);
  _tile_stored(2, sums + 512, 64);
  _tile_stored(3, sums + 768, 64);
}
#undef TRTMC_LOAD_W
#undef TRTMC_LOAD_X
#undef TRTMC_PRODUCTS

// Writes the sums of 32 outputs x 16 tokens, turned over, with bias and residual. The second
// sixteen outputs are two tiles further. Both halves of a token are written together: rows of y
// lie far apart, and each costs a page.
void put(const LinearJob& job, const float* sums, int token, int tokens, int output, int outputs) {
  if (tokens <= 0) return;
  __m512i r[2][kTile];
  __m512 bias[2] = {};
  __mmask16 m[2];
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < kTile; ++i) r[h][i] = _mm512_load_si512(sums + h * 512 + i * kTile);
    transpose(r[h]);
    m[h] = lanes(outputs - h * kTile);
    if (job.bias != nullptr) bias[h] = _mm512_maskz_loadu_ps(m[h], job.bias + output + h * kTile);
  }
  for (int t = 0; t < std::min(tokens, kTile); ++t) {
    const std::size_t at = static_cast<std::size_t>(token + t) * job.n + output;
    for (int h = 0; h < 2; ++h) {
      const std::size_t place = at + h * kTile;
      __m512 v = _mm512_add_ps(_mm512_castsi512_ps(r[h][t]), bias[h]);
      if (job.residual != nullptr) {
        v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(m[h], job.residual + place));
      }
      _mm512_mask_storeu_ps(job.y + place, m[h], v);
    }
  }
}

template <class W, int kWTerms, int kXTerms>
void run_as(const LinearJob& job, const PackedRows& x, int n0, int n1, void* scratch) {
  const std::size_t bytes = weight_bytes(job.type);
  const std::size_t w_half = steps(x.k) * step_stride(kWTerms);
  const std::size_t x_tile = static_cast<std::size_t>(steps(x.k)) * kXTerms * kTileBytes;
  auto* sums = static_cast<float*>(scratch);
  std::byte* w = static_cast<std::byte*>(scratch) + 4 * kTileBytes;
  std::byte* w_next = w + 2 * w_half;
  const int units = (kBlock * kBlock + x.rows - 1) / x.rows;  // the next rows are ready in time
  WeightFeed<W, kWTerms> feed;
  auto start = [&](int output, std::byte* out) {
    const auto* source =
        static_cast<const std::byte*>(job.weight) + static_cast<std::size_t>(output) * x.k * bytes;
    feed.start(source, bytes, std::min(kBlock, n1 - output), x.k, out);
  };
  start(n0, w);
  feed.finish();
  for (int output = n0; output < n1; output += kBlock) {
    if (output + kBlock < n1) start(output + kBlock, w_next);
    const auto* data = static_cast<const std::byte*>(x.data);
    for (int token = 0; token < x.rows; token += kBlock, data += 2 * x_tile) {
      tile_block<kWTerms, kXTerms>(w, w + w_half, data, data + x_tile, x.k, feed, units, sums);
      put(job, sums, token, std::min(kTile, x.rows - token), output, n1 - output);
      put(job, sums + 256, token + kTile, x.rows - token - kTile, output, n1 - output);
    }
    feed.finish();
    std::swap(w, w_next);
  }
}

template <int kXTerms>
void run(const LinearJob& job, const PackedRows& x, int n0, int n1, void* scratch) {
  _tile_loadconfig(&kTileConfig);
  constexpr bool kFast = kXTerms == 1;
  switch (job.type) {
    case WeightType::kF16:
      run_as<HalfWeight, kFast ? 1 : 2, kXTerms>(job, x, n0, n1, scratch);
      break;
    case WeightType::kBF16: run_as<BrainWeight, 1, kXTerms>(job, x, n0, n1, scratch); break;
    case WeightType::kF32:
      run_as<FloatWeight, kFast ? 1 : 3, kXTerms>(job, x, n0, n1, scratch);
      break;
  }
  _tile_release();
}

std::size_t scratch_bytes(int, int k) {
  return 4 * kTileBytes + 4 * static_cast<std::size_t>(steps(k)) * step_stride(3);
}

template <int kXTerms>
GemmKernel kernel(int min_rows) {
  GemmKernel g;
  g.block = kBlock;
  g.min_rows = min_rows;
  g.packed_bytes = packed_bytes<kXTerms>;
  g.pack_units = pack_units;
  g.pack = pack<kXTerms>;
  g.scratch_bytes = scratch_bytes;
  g.run = run<kXTerms>;
  return g;
}

}  // namespace

GemmKernel amx_gemm_exact() { return kernel<3>(14); }
GemmKernel amx_gemm_fast() { return kernel<1>(8); }

}  // namespace trtmc::cpu

#if defined(__clang__)
#pragma clang attribute pop
#endif
