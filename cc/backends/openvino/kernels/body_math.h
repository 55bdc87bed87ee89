// exp and the element-wise kernels. A body: compiled once per instruction set by isa_*.cc, inside
// that file's namespace, over its Vec functions (simd_*.h). Not a header for anyone else.

// e^x within 2 ulp for results that are normal numbers, 0 below, inf above, NaN for NaN.
inline Vec exp(Vec x) {
  const Vec smallest = splat(-87.33654f);
  const Vec t = min(splat(89.0f), max(splat(-104.0f), x));  // NaN is in the place that survives
  const Vec n = round(mul(t, splat(1.44269504088896341f)));
  Vec r = nfma(n, splat(0.693359375f), t);  // ln 2 in two parts
  r = nfma(n, splat(-2.12194440e-4f), r);
  Vec p = splat(1.9875691500e-4f);
  p = fma(p, r, splat(1.3981999507e-3f));
  p = fma(p, r, splat(8.3334519073e-3f));
  p = fma(p, r, splat(4.1665795894e-2f));
  p = fma(p, r, splat(1.6666665459e-1f));
  p = fma(p, r, splat(5.0000001201e-1f));
  p = add(fma(mul(p, r), r, r), splat(1.0f));
  return zero_below(scale2(p, n), x, smallest);
}

void exp_array(const float* x, float* y, int count) {
  int i = 0;
  for (; i + kWidth <= count; i += kWidth) store(y + i, exp(load(x + i)));
  if (i < count) store_n(y + i, exp(load_n(x + i, count - i)), count - i);
}

// x · sigmoid(u) where both come from the caller.
inline Vec times_sigmoid(Vec x, Vec u) {
  return div(x, add(splat(1.0f), exp(sub(zero(), u))));
}

template <Activation kKind>
inline Vec activate(Vec x) {
  if constexpr (kKind == Activation::kSilu) {
    return times_sigmoid(x, x);
  } else if constexpr (kKind == Activation::kGeluTanh) {
    // x/2 · (1 + tanh(c(x + 0.044715 x³))) = x · sigmoid(2c(x + 0.044715 x³)), c = sqrt(2/pi)
    const Vec inner = fma(mul(mul(x, x), x), splat(0.044715f), x);
    return times_sigmoid(x, mul(inner, splat(1.5957691216057308f)));
  } else if constexpr (kKind == Activation::kGelu) {
    float v[kWidth];
    store(v, x);
    for (float& e : v) e = 0.5f * e * (1.0f + std::erf(e * 0.70710678118654752f));
    return load(v);
  } else if constexpr (kKind == Activation::kQuickGelu) {
    return times_sigmoid(x, mul(x, splat(1.702f)));
  } else if constexpr (kKind == Activation::kMish) {
    // tanh(log(1 + e)) = w / (w + 2) with e = exp(x), w = e² + 2e; 1 from 20 on, where w is finite
    const Vec e = exp(min(splat(20.0f), x));
    const Vec w = mul(e, add(e, splat(2.0f)));
    return mul(x, div(w, add(w, splat(2.0f))));
  } else {
    return max(zero(), x);
  }
}

template <Activation kKind>
void gated_as(const float* gate, const float* up, float* y, int count) {
  int i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    store(y + i, mul(activate<kKind>(load(gate + i)), load(up + i)));
  }
  if (const int rest = count - i; rest > 0) {
    store_n(y + i, mul(activate<kKind>(load_n(gate + i, rest)), load_n(up + i, rest)), rest);
  }
}

void gated(Activation kind, const float* gate, const float* up, float* y, int count) {
  switch (kind) {
    case Activation::kSilu: return gated_as<Activation::kSilu>(gate, up, y, count);
    case Activation::kGeluTanh: return gated_as<Activation::kGeluTanh>(gate, up, y, count);
    case Activation::kGelu: return gated_as<Activation::kGelu>(gate, up, y, count);
    case Activation::kRelu: return gated_as<Activation::kRelu>(gate, up, y, count);
    case Activation::kQuickGelu: return gated_as<Activation::kQuickGelu>(gate, up, y, count);
    case Activation::kMish: return gated_as<Activation::kMish>(gate, up, y, count);
  }
}

void add_arrays(const float* a, const float* b, float* y, int count) {
  int i = 0;
  for (; i + kWidth <= count; i += kWidth) store(y + i, add(load(a + i), load(b + i)));
  if (const int rest = count - i; rest > 0) {
    store_n(y + i, add(load_n(a + i, rest), load_n(b + i, rest)), rest);
  }
}

template <class W>
void decode_as(const void* source, float* out, int count) {
  const auto* p = static_cast<const std::byte*>(source);
  int i = 0;
  for (; i + kWidth <= count; i += kWidth) store(out + i, W::load(p + i * W::kBytes));
  if (const int rest = count - i; rest > 0) {
    store_n(out + i, W::load_n(p + i * W::kBytes, rest), rest);
  }
}

void decode(WeightType type, const void* source, float* out, int count) {
  switch (type) {
    case WeightType::kF16: return decode_as<F16>(source, out, count);
    case WeightType::kBF16: return decode_as<BF16>(source, out, count);
    case WeightType::kF32: return decode_as<F32>(source, out, count);
  }
}

void rms_norm_one(const float* x, const float* weight, float epsilon, int size, float* y) {
  Vec s[4] = {zero(), zero(), zero(), zero()};
  int i = 0;
  for (; i + 4 * kWidth <= size; i += 4 * kWidth) {
    for (int j = 0; j < 4; ++j) {
      const Vec v = load(x + i + j * kWidth);
      s[j] = fma(v, v, s[j]);
    }
  }
  for (; i < size; i += kWidth) {
    const Vec v = load_n(x + i, size - i < kWidth ? size - i : kWidth);
    s[0] = fma(v, v, s[0]);
  }
  const float mean = sum(add(add(s[0], s[1]), add(s[2], s[3]))) / static_cast<float>(size);
  const Vec scale = splat(1.0f / std::sqrt(mean + epsilon));
  for (i = 0; i + kWidth <= size; i += kWidth) {
    store(y + i, mul(mul(load(x + i), scale), load(weight + i)));
  }
  if (const int rest = size - i; rest > 0) {
    store_n(y + i, mul(mul(load_n(x + i, rest), scale), load_n(weight + i, rest)), rest);
  }
}

void rms_norm(const float* x, const float* weight, float epsilon, int size, int groups, float* y) {
  for (int g = 0; g < groups; ++g) {
    const auto at = static_cast<std::size_t>(g) * static_cast<std::size_t>(size);
    rms_norm_one(x + at, weight, epsilon, size, y + at);
  }
}

void rotate(const float* x, const float* cos, const float* sin, int half, int head_dim,
            bool interleaved, float scale, float* out) {
  if (interleaved) {
    for (int i = 0; i < half; ++i) {
      const float a = x[2 * i], b = x[2 * i + 1];
      out[2 * i] = (a * cos[i] - b * sin[i]) * scale;
      out[2 * i + 1] = (b * cos[i] + a * sin[i]) * scale;
    }
  } else {
    for (int i = 0; i < half; i += kWidth) {
      const int n = half - i < kWidth ? half - i : kWidth;
      const Vec a = load_n(x + i, n), b = load_n(x + half + i, n);
      const Vec c = load_n(cos + i, n), s = load_n(sin + i, n);
      store_n(out + i, mul(nfma(b, s, mul(a, c)), splat(scale)), n);
      store_n(out + half + i, mul(fma(a, s, mul(b, c)), splat(scale)), n);
    }
  }
  for (int i = 2 * half; i < head_dim; ++i) out[i] = x[i] * scale;
}
