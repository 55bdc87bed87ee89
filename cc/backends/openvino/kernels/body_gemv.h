// Products of a few token rows with a matrix that is read once from memory. A body, see
// body_math.h.
//
// Each (output, token) has one vector sum that runs over k in steps of kWidth: results do not
// depend on how outputs or tokens are blocked, nor on threads.

// Sums of kRows matrix rows x kTokens token rows. `ahead` bytes further the next block of the
// matrix starts; each of its cache lines is asked for once.
template <class W, int kRows, int kTokens>
inline void gemv_tile(const std::byte* w, std::size_t stride, const float* x, int k,
                      std::size_t ahead, float* out /* [kRows][kTokens] */) {
  Vec acc[kRows][kTokens];
  for (int i = 0; i < kRows; ++i) {
    for (int t = 0; t < kTokens; ++t) acc[i][t] = zero();
  }
  constexpr int kStepsPerLine = std::max(1, 64 / (kWidth * static_cast<int>(W::kBytes)));
  int kk = 0;
  for (; kk + kStepsPerLine * kWidth <= k; kk += kStepsPerLine * kWidth) {
    for (int i = 0; i < kRows; ++i) {
      _mm_prefetch(reinterpret_cast<const char*>(w + i * stride + kk * W::kBytes + ahead),
                   _MM_HINT_T0);
    }
#pragma GCC unroll 4
    for (int u = 0; u < kStepsPerLine; ++u) {
      Vec xv[kTokens];
      for (int t = 0; t < kTokens; ++t) {
        xv[t] = load(x + static_cast<std::size_t>(t) * k + kk + u * kWidth);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const Vec wv = W::load(w + i * stride + (kk + u * kWidth) * W::kBytes);
        for (int t = 0; t < kTokens; ++t) acc[i][t] = fma(wv, xv[t], acc[i][t]);
      }
    }
  }
  for (; kk < k; kk += kWidth) {
    const int n = k - kk < kWidth ? k - kk : kWidth;
    Vec xv[kTokens];
    for (int t = 0; t < kTokens; ++t) xv[t] = load_n(x + static_cast<std::size_t>(t) * k + kk, n);
    for (int i = 0; i < kRows; ++i) {
      const Vec wv = W::load_n(w + i * stride + kk * W::kBytes, n);
      for (int t = 0; t < kTokens; ++t) acc[i][t] = fma(wv, xv[t], acc[i][t]);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int t = 0; t < kTokens; ++t) out[i * kTokens + t] = sum(acc[i][t]);
  }
}

inline void gemv_put(const LinearJob& job, int token, int output, float value) {
  const std::size_t at = static_cast<std::size_t>(token) * job.n + output;
  if (job.bias != nullptr) value += job.bias[output];
  if (job.residual != nullptr) value += job.residual[at];
  job.y[at] = value;
}

template <class W, int kRows, int kTokens>
inline void gemv_block(const LinearJob& job, const float* x, int k, int token, int output) {
  const std::size_t stride = static_cast<std::size_t>(k) * W::kBytes;
  const auto* w = static_cast<const std::byte*>(job.weight) + output * stride;
  float out[kRows * kTokens];
  gemv_tile<W, kRows, kTokens>(w, stride, x + static_cast<std::size_t>(token) * k, k,
                               kRows * stride, out);
  for (int i = 0; i < kRows; ++i) {
    for (int t = 0; t < kTokens; ++t) gemv_put(job, token + t, output + i, out[i * kTokens + t]);
  }
}

template <class W, int kRows>
inline void gemv_tokens(const LinearJob& job, const float* x, int rows, int k, int output) {
  int t = 0;
  for (; t + 4 <= rows; t += 4) gemv_block<W, kRows, 4>(job, x, k, t, output);
  switch (rows - t) {
    case 3: return gemv_block<W, kRows, 3>(job, x, k, t, output);
    case 2: return gemv_block<W, kRows, 2>(job, x, k, t, output);
    case 1: return gemv_block<W, kRows, 1>(job, x, k, t, output);
    default: return;
  }
}

template <class W>
void gemv_as(const LinearJob& job, const float* x, int rows, int k, int n0, int n1) {
  int i = n0;
  if (rows == 1) {
    for (; i + kGemvRows <= n1; i += kGemvRows) gemv_block<W, kGemvRows, 1>(job, x, k, 0, i);
  } else {
    for (; i + 4 <= n1; i += 4) gemv_tokens<W, 4>(job, x, rows, k, i);
  }
  for (; i < n1; ++i) gemv_tokens<W, 1>(job, x, rows, k, i);
}

void gemv(const LinearJob& job, const float* x, int rows, int k, int n0, int n1) {
  switch (job.type) {
    case WeightType::kF16: return gemv_as<F16>(job, x, rows, k, n0, n1);
    case WeightType::kBF16: return gemv_as<BF16>(job, x, rows, k, n0, n1);
    case WeightType::kF32: return gemv_as<F32>(job, x, rows, k, n0, n1);
  }
}
