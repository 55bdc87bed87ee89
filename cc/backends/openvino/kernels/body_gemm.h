// Float32 matrix product for many token rows. A body, see body_math.h.
//
// Yᵀ = W·Xᵀ: kGemmRows matrix rows are widened to float32 in the first cache, token rows are
// repacked to panels [k][tokens], and the sums of kGemmRows x kGemmVecs vectors stay in registers.

inline constexpr int kPanel = kGemmVecs * kWidth;

inline int vectors(int rows) { return (rows + kWidth - 1) / kWidth; }

std::size_t gemm_packed_bytes(int rows, int k) {
  return static_cast<std::size_t>(vectors(rows)) * kWidth * k * sizeof(float);
}

int gemm_pack_units(int rows) { return vectors(rows); }

// Unit = one vector of tokens. A panel is [k][its vectors][kWidth]; the last may have fewer.
void gemm_pack(const float* x, int rows, int k, int unit, void* packed) {
  const int panel = unit / kGemmVecs, in_panel = unit % kGemmVecs;
  const int width = std::min(kGemmVecs, vectors(rows) - panel * kGemmVecs) * kWidth;
  float* out = static_cast<float*>(packed) + static_cast<std::size_t>(panel) * kPanel * k +
               in_panel * kWidth;
  const int tokens = std::min(kWidth, rows - unit * kWidth);
  const float* in = x + static_cast<std::size_t>(unit) * kWidth * k;
  for (int k0 = 0; k0 < k; k0 += kWidth) {  // square tiles: both sides stay in the first cache
    const int k1 = std::min(k, k0 + kWidth);
    for (int t = 0; t < tokens; ++t) {
      for (int kk = k0; kk < k1; ++kk) {
        out[static_cast<std::size_t>(kk) * width + t] = in[static_cast<std::size_t>(t) * k + kk];
      }
    }
    for (int kk = k0; kk < k1 && tokens < kWidth; ++kk) {
      for (int t = tokens; t < kWidth; ++t) out[static_cast<std::size_t>(kk) * width + t] = 0;
    }
  }
}

std::size_t gemm_scratch_bytes(int, int k) {
  return (static_cast<std::size_t>(k) * kGemmRows + kGemmRows * kPanel) * sizeof(float);
}

template <int kVecs>
inline void gemm_tile(const float* w, const float* x, int k, float* out /* [kGemmRows][kPanel] */) {
  Vec acc[kGemmRows][kVecs];
#pragma GCC unroll 8
  for (int i = 0; i < kGemmRows; ++i) {
    for (int v = 0; v < kVecs; ++v) acc[i][v] = zero();
  }
  for (int kk = 0; kk < k; ++kk) {
    Vec xv[kVecs];
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) xv[v] = load(x + v * kWidth);
    x += kVecs * kWidth;
#pragma GCC unroll 8
    for (int i = 0; i < kGemmRows; ++i) {
      const Vec wv = splat(w[static_cast<std::size_t>(i) * k + kk]);
#pragma GCC unroll 4
      for (int v = 0; v < kVecs; ++v) acc[i][v] = fma(wv, xv[v], acc[i][v]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kGemmRows; ++i) {
    for (int v = 0; v < kVecs; ++v) store(out + i * kPanel + v * kWidth, acc[i][v]);
  }
}

inline void gemm_tile_of(int vecs, const float* w, const float* x, int k, float* out) {
  static_assert(kGemmVecs <= 4);
  switch (vecs) {
    case 1: return gemm_tile<1>(w, x, k, out);
    case 2: return gemm_tile<std::min(2, kGemmVecs)>(w, x, k, out);
    case 3: return gemm_tile<std::min(3, kGemmVecs)>(w, x, k, out);
    default: return gemm_tile<kGemmVecs>(w, x, k, out);
  }
}

// Writes the sums of `outputs` matrix rows x `tokens`, turned over, with bias and residual.
template <bool kResidual>
inline void gemm_put_rows(const LinearJob& job, const float* tile, int tokens, std::size_t at,
                          const float* bias, int outputs) {
  for (int t = 0; t < tokens; ++t, at += static_cast<std::size_t>(job.n)) {
    float* y = job.y + at;
    for (int i = 0; i < outputs; ++i) {
      const float value = tile[i * kPanel + t] + bias[i];
      y[i] = kResidual ? value + job.residual[at + i] : value;
    }
  }
}

inline void gemm_put(const LinearJob& job, const float* tile, int tokens, int token, int output,
                     int outputs) {
  float bias[kGemmRows] = {};
  if (job.bias != nullptr) std::copy(job.bias + output, job.bias + output + outputs, bias);
  const std::size_t at = static_cast<std::size_t>(token) * job.n + output;
  if (job.residual != nullptr) {
    gemm_put_rows<true>(job, tile, tokens, at, bias, outputs);
  } else if (outputs == kGemmRows) {
    gemm_put_rows<false>(job, tile, tokens, at, bias, kGemmRows);  // unrolled
  } else {
    gemm_put_rows<false>(job, tile, tokens, at, bias, outputs);
  }
}

void gemm(const LinearJob& job, const PackedRows& x, int n0, int n1, void* scratch) {
  auto* w = static_cast<float*>(scratch);
  float* tile = w + static_cast<std::size_t>(x.k) * kGemmRows;
  const auto* data = static_cast<const float*>(x.data);
  for (int output = n0; output < n1; output += kGemmRows) {
    const int outputs = std::min(kGemmRows, n1 - output);
    const auto* source = static_cast<const std::byte*>(job.weight) +
                         static_cast<std::size_t>(output) * x.k * weight_bytes(job.type);
    for (int i = 0; i < outputs; ++i) {
      decode(job.type, source + static_cast<std::size_t>(i) * x.k * weight_bytes(job.type),
             w + static_cast<std::size_t>(i) * x.k, x.k);
    }
    std::fill(w + static_cast<std::size_t>(outputs) * x.k,
              w + static_cast<std::size_t>(kGemmRows) * x.k, 0.0f);
    for (int token = 0; token < x.rows; token += kPanel) {
      const int tokens = std::min(kPanel, x.rows - token);
      gemm_tile_of(vectors(tokens), w, data + static_cast<std::size_t>(token) * x.k, x.k, tile);
      gemm_put(job, tile, tokens, token, output, outputs);
    }
  }
}

inline GemmKernel gemm_kernel() {
  GemmKernel g;
  g.block = kGemmRows;
  g.min_rows = kWidth >= 16 ? 17 : 14;  // measured
  g.packed_bytes = gemm_packed_bytes;
  g.pack_units = gemm_pack_units;
  g.pack = gemm_pack;
  g.scratch_bytes = gemm_scratch_bytes;
  g.run = gemm;
  return g;
}
