// Attention of some query rows over a block of keys, with running softmax. A body, see body_math.h.
//
// Few rows (a decoder step): dot products straight from the cache. Many rows (a prompt): keys are
// transposed once per block, then scores are a small matrix product.

inline constexpr int kScoreRows = 8;  // rows whose scores are kept at once
static_assert(kAttendRows <= kScoreRows);

inline Vec load_upto(const float* p, int n) {
  return n >= kWidth ? load(p) : load_n(p, n);
}

inline void prefetch_row(const float* p, int dim) {
  for (int d = 0; d < dim; d += 16) {
    _mm_prefetch(reinterpret_cast<const char*>(p + d), _MM_HINT_T0);
  }
}

// scores[r][j] = q[r] · k[j]. Meanwhile the values `v`, needed next, come from memory.
template <int kRows>
inline void score_dots(const float* const* q, const float* k, const float* v, int keys, int dim,
                       float* scores) {
  for (int j = 0; j < keys; ++j) {
    const float* key = k + static_cast<std::size_t>(j) * dim;
    prefetch_row(v + static_cast<std::size_t>(j) * dim, dim);
    Vec acc[kRows];
    for (int r = 0; r < kRows; ++r) acc[r] = zero();
    for (int d = 0; d < dim; d += kWidth) {
      const Vec kv = load_upto(key + d, dim - d);
      for (int r = 0; r < kRows; ++r) acc[r] = fma(kv, load_upto(q[r] + d, dim - d), acc[r]);
    }
    for (int r = 0; r < kRows; ++r) scores[r * kKeyBlock + j] = sum(acc[r]);
  }
}

inline void transpose_keys(const float* k, int keys, int dim, float* out /* [dim][kKeyBlock] */) {
  for (int j0 = 0; j0 < kKeyBlock; j0 += kWidth) {
    for (int d0 = 0; d0 < dim; d0 += kWidth) {
      const int d1 = std::min(dim, d0 + kWidth);
      for (int j = j0; j < j0 + kWidth; ++j) {
        for (int d = d0; d < d1; ++d) {
          out[d * kKeyBlock + j] = j < keys ? k[static_cast<std::size_t>(j) * dim + d] : 0.0f;
        }
      }
    }
  }
}

template <int kRows, int kVecs>
inline void score_tile(const float* const* q, const float* keys, int dim, float* scores) {
  Vec acc[kRows][kVecs];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVecs; ++v) acc[r][v] = zero();
  }
  for (int d = 0; d < dim; ++d, keys += kKeyBlock) {
    Vec kv[kVecs];
    for (int v = 0; v < kVecs; ++v) kv[v] = load(keys + v * kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Vec qv = splat(q[r][d]);
      for (int v = 0; v < kVecs; ++v) acc[r][v] = fma(qv, kv[v], acc[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVecs; ++v) store(scores + r * kKeyBlock + v * kWidth, acc[r][v]);
  }
}

template <int kRows>
inline void score_packed(const float* const* q, const float* keys, int dim, float* scores) {
  int j = 0;
  for (; j + kAttendVecs * kWidth <= kKeyBlock; j += kAttendVecs * kWidth) {
    score_tile<kRows, kAttendVecs>(q, keys + j, dim, scores + j);
  }
  for (; j < kKeyBlock; j += kWidth) score_tile<kRows, 1>(q, keys + j, dim, scores + j);
}

// Turns scores[0,keys) of a row into weights; keys outside [lo,hi) get 0.
inline void soften(float* s, int keys, int lo, int hi, int stride, float* max_at, float* sum_at,
                   float* acc) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  lo = std::max(lo, 0);
  hi = std::min(hi, keys);
  if (lo >= hi) {
    std::fill(s, s + keys, 0.0f);
    return;
  }
  std::fill(s, s + lo, kNone);
  std::fill(s + hi, s + kKeyBlock, kNone);
  Vec m = splat(kNone);
  for (int j = 0; j < hi; j += kWidth) m = max(m, load(s + j));
  const float before = *max_at, now = std::max(before, max_of(m));
  *max_at = now;
  if (now == kNone) {  // every score is -inf: only from weights that are not finite
    std::fill(s, s + keys, 0.0f);
    return;
  }
  const Vec shift = splat(now);
  Vec total = zero();
  for (int j = 0; j < hi; j += kWidth) {
    const Vec p = exp(sub(load(s + j), shift));
    store(s + j, p);
    total = add(total, p);
  }
  for (int j = hi; j < keys; ++j) s[j] = 0.0f;
  if (before == now) {
    *sum_at += sum(total);
    return;
  }
  const float fade = before == kNone ? 0.0f : std::exp(before - now);
  *sum_at = *sum_at * fade + sum(total);
  for (int d = 0; d < stride; d += kWidth) store(acc + d, mul(load(acc + d), splat(fade)));
}

// acc[r] += Σ_j weights[r][j] · v[j], for kVecs vectors of head_dim from `d` on.
template <int kRows, int kVecs>
inline void weigh_tile(const float* weights, const float* v, int keys, int dim, int d, float* acc,
                       int stride) {
  Vec sums[kRows][kVecs];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kVecs; ++c) sums[r][c] = load(acc + r * stride + d + c * kWidth);
  }
  const int last = dim - d - (kVecs - 1) * kWidth;  // elements of the last vector
  for (int j = 0; j < keys; ++j) {
    const float* row = v + static_cast<std::size_t>(j) * dim + d;
    Vec vv[kVecs];
    for (int c = 0; c + 1 < kVecs; ++c) vv[c] = load(row + c * kWidth);
    vv[kVecs - 1] = load_upto(row + (kVecs - 1) * kWidth, last);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Vec p = splat(weights[r * kKeyBlock + j]);
      for (int c = 0; c < kVecs; ++c) sums[r][c] = fma(p, vv[c], sums[r][c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kVecs; ++c) store(acc + r * stride + d + c * kWidth, sums[r][c]);
  }
}

template <int kRows>
inline void weigh(const float* weights, const float* v, int keys, int dim, float* acc,
                  int stride) {
  constexpr int kWide = kAttendVecs * kWidth;
  int d = 0;
  for (; d + kWide <= dim; d += kWide) {
    weigh_tile<kRows, kAttendVecs>(weights, v, keys, dim, d, acc, stride);
  }
  for (; d < dim; d += kWidth) weigh_tile<kRows, 1>(weights, v, keys, dim, d, acc, stride);
}

// One group of kRows rows against keys [j0, j0 + keys).
template <int kRows>
inline void attend_rows(const AttentionBlock& b, const AttentionState& state, int row, int j0,
                        int keys, const float* packed, float* scores) {
  const float* k = b.k + static_cast<std::size_t>(j0) * b.head_dim;
  const float* v = b.v + static_cast<std::size_t>(j0) * b.head_dim;
  const int stride = attention_stride(b.head_dim);
  if (packed != nullptr) {
    score_packed<kRows>(b.q + row, packed, b.head_dim, scores);
  } else {
    score_dots<kRows>(b.q + row, k, v, keys, b.head_dim, scores);
  }
  for (int r = 0; r < kRows; ++r) {
    const int at = row + r;
    soften(scores + r * kKeyBlock, keys, b.first[at] - j0, b.last[at] - j0, stride,
           state.max + at, state.sum + at, state.acc + static_cast<std::size_t>(at) * stride);
  }
  weigh<kRows>(scores, v, keys, b.head_dim, state.acc + static_cast<std::size_t>(row) * stride,
               stride);
}

// Whether any row in [row, row + n) sees a key of [j0, j1): blocks above the diagonal are skipped.
inline bool any_visible(const AttentionBlock& b, int row, int n, int j0, int j1) {
  for (int r = row; r < row + n; ++r) {
    if (b.first[r] < j1 && b.last[r] > j0) return true;
  }
  return false;
}

void attend(const AttentionBlock& b, const AttentionState& state) {
  float* keys_t = b.scratch;
  float* scores = b.scratch + static_cast<std::size_t>(kKeyBlock) * b.head_dim;
  for (int j0 = b.begin; j0 < b.end; j0 += kKeyBlock) {
    const int keys = std::min(kKeyBlock, b.end - j0);
    const float* packed = nullptr;
    if (b.rows >= kPackedAttentionRows) {
      transpose_keys(b.k + static_cast<std::size_t>(j0) * b.head_dim, keys, b.head_dim, keys_t);
      packed = keys_t;
    }
    // The next block of keys comes while this one's values are weighed.
    for (int j = j0 + kKeyBlock; j < std::min(b.end, j0 + 2 * kKeyBlock); ++j) {
      prefetch_row(b.k + static_cast<std::size_t>(j) * b.head_dim, b.head_dim);
    }
    int row = 0;
    for (; row + kAttendRows <= b.rows; row += kAttendRows) {
      if (!any_visible(b, row, kAttendRows, j0, j0 + keys)) continue;
      attend_rows<kAttendRows>(b, state, row, j0, keys, packed, scores);
    }
    for (; row + 3 <= b.rows; row += 3) attend_rows<3>(b, state, row, j0, keys, packed, scores);
    for (; row < b.rows; ++row) attend_rows<1>(b, state, row, j0, keys, packed, scores);
  }
}
