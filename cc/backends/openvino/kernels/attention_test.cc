// attention() against a double-precision reference: head shapes, ragged batches, rotary forms.
#include "cc/backends/openvino/kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "cc/backends/openvino/kernels/testing.h"

namespace trtmc::cpu {
namespace {

struct Case {
  int batch, tokens, q_heads, kv_heads, head_dim, capacity;
  std::vector<int> write;
  int rotary = 0;  // rotary_half
  bool interleaved = false;
  int window = 0;
};

struct Scene {
  Case c;
  std::vector<float> q, k, v, k_cache, v_cache, cos, sin, out;
  std::vector<int> length, position;

  explicit Scene(const Case& of) : c(of) {
    const size_t d = size_t(c.head_dim), bt = size_t(c.batch) * c.tokens;
    q = testing::random_floats(bt * c.q_heads * d, 1);
    k = testing::random_floats(bt * c.kv_heads * d, 2);
    v = testing::random_floats(bt * c.kv_heads * d, 3);
    const size_t cache = size_t(c.batch) * c.kv_heads * c.capacity * d;
    k_cache = testing::random_floats(cache, 4);
    v_cache = testing::random_floats(cache, 5);
    out.assign(bt * c.q_heads * d, 99.0f);
    for (int b = 0; b < c.batch; ++b) length.push_back(c.write[b] + c.tokens);
    for (int b = 0; b < c.batch; ++b) {
      for (int t = 0; t < c.tokens; ++t) position.push_back(c.write[b] + t);
    }
    for (int p = 0; p < c.capacity; ++p) {
      for (int i = 0; i < c.rotary; ++i) {
        cos.push_back(float(std::cos(p / (1.0 + i))));
        sin.push_back(float(std::sin(p / (1.0 + i))));
      }
    }
  }

  AttentionArgs args() {
    AttentionArgs a;
    a.q = q.data(), a.k = k.data(), a.v = v.data(), a.out = out.data();
    a.k_cache = k_cache.data(), a.v_cache = v_cache.data();
    a.batch = c.batch, a.tokens = c.tokens, a.q_heads = c.q_heads, a.kv_heads = c.kv_heads;
    a.head_dim = c.head_dim, a.capacity = c.capacity;
    a.write = c.write.data(), a.length = length.data(), a.position = position.data();
    a.cos = cos.data(), a.sin = sin.data();
    a.rotary_half = c.rotary, a.interleaved = c.interleaved, a.window = c.window;
    a.scale = float(1 / std::sqrt(double(c.head_dim)));
    return a;
  }
};

std::vector<double> rotated(const Scene& s, const float* x, int position) {
  std::vector<double> y(x, x + s.c.head_dim);
  const int half = s.c.rotary;
  for (int i = 0; i < half; ++i) {
    const int a = s.c.interleaved ? 2 * i : i, b = s.c.interleaved ? 2 * i + 1 : i + half;
    const double cos = s.cos[size_t(position) * half + i], sin = s.sin[size_t(position) * half + i];
    y[a] = x[a] * cos - x[b] * sin;
    y[b] = x[b] * cos + x[a] * sin;
  }
  return y;
}

// Expected output and caches, from the state before the call.
std::vector<double> reference(const Scene& s, std::vector<float>& kc, std::vector<float>& vc) {
  const Case& c = s.c;
  const int d = c.head_dim, group = c.q_heads / c.kv_heads;
  std::vector<double> out(s.out.size(), 0.0);
  auto cache_row = [&](int b, int h, int j) {
    return ((size_t(b) * c.kv_heads + h) * c.capacity + j) * d;
  };
  for (int b = 0; b < c.batch; ++b) {
    for (int t = 0; t < c.tokens; ++t) {
      for (int h = 0; h < c.kv_heads; ++h) {
        const size_t from = ((size_t(b) * c.tokens + t) * c.kv_heads + h) * d;
        const auto key = rotated(s, s.k.data() + from, s.position[size_t(b) * c.tokens + t]);
        for (int i = 0; i < d; ++i) {
          kc[cache_row(b, h, c.write[b] + t) + i] = float(key[i]);
          vc[cache_row(b, h, c.write[b] + t) + i] = s.v[from + i];
        }
      }
    }
    for (int t = 0; t < c.tokens; ++t) {
      for (int h = 0; h < c.q_heads; ++h) {
        const size_t at = ((size_t(b) * c.tokens + t) * c.q_heads + h) * d;
        const auto query = rotated(s, s.q.data() + at, s.position[size_t(b) * c.tokens + t]);
        const int last = std::min(t + s.length[b] - c.tokens, s.length[b] - 1);
        const int first = c.window > 0 ? std::max(0, last + 1 - c.window) : 0;
        std::vector<double> score;
        double best = -1e300, total = 0;
        for (int j = first; j <= last; ++j) {
          double dot = 0;
          for (int i = 0; i < d; ++i) dot += query[i] * kc[cache_row(b, h / group, j) + i];
          score.push_back(dot / std::sqrt(double(d)));
          best = std::max(best, score.back());
        }
        for (double& e : score) total += e = std::exp(e - best);
        for (int j = first; j <= last; ++j) {
          for (int i = 0; i < d; ++i) {
            out[at + i] += score[j - first] / total * vc[cache_row(b, h / group, j) + i];
          }
        }
      }
    }
  }
  return out;
}

class AttentionTest : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { force_isa(GetParam()); }
  void TearDown() override { force_isa(Isa::kAmx); }
};

const Case kCases[] = {
    {1, 1, 1, 1, 12, 8, {0}},
    {1, 1, 9, 3, 64, 256, {200}, 32},
    {1, 5, 8, 1, 24, 64, {0}, 12},               // MQA
    {2, 1, 4, 4, 80, 96, {17, 64}, 16},          // MHA, ragged, partial rotary
    {3, 4, 6, 2, 128, 80, {0, 60, 33}, 64},      // ragged prompt
    {1, 33, 9, 3, 64, 128, {0}, 32},             // one unit, packed
    {1, 100, 4, 2, 12, 256, {70}, 6},            // several units, second turn
    {2, 70, 6, 1, 20, 160, {90, 3}, 5, true},    // interleaved, odd half
    {1, 130, 3, 1, 96, 130, {0}, 48},            // fills the cache
    {1, 50, 4, 2, 16, 200, {100}, 8, false, 7},  // window
    {1, 1, 2, 1, 300, 70, {65}, 100, true},      // wide head
};

TEST_P(AttentionTest, AgreesWithDouble) {
  for (const int threads : {1, 3}) {
    Pool pool(threads);
    Workspace ws(pool);
    for (const Case& c : kCases) {
      Scene s(c);
      std::vector<float> kc = s.k_cache, vc = s.v_cache;
      const auto want = reference(s, kc, vc);
      attention(ws, s.args());
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(s.out[i], want[i], 3e-6)
            << "head_dim " << c.head_dim << " tokens " << c.tokens << " at " << i;
      }
      for (size_t i = 0; i < kc.size(); ++i) {
        ASSERT_NEAR(s.k_cache[i], kc[i], 1e-6) << "k cache " << i;
        ASSERT_EQ(s.v_cache[i], vc[i]) << "v cache " << i;
      }
    }
  }
}

TEST_P(AttentionTest, PromptInOneGoEqualsTokenByToken) {
  Pool pool(2);
  Workspace ws(pool);
  Scene whole({1, 90, 6, 2, 32, 100, {0}, 16});
  Scene steps = whole;
  attention(ws, whole.args());
  for (int t = 0; t < 90; ++t) {
    AttentionArgs a = steps.args();
    const int write = t, length = t + 1;
    a.tokens = 1, a.write = &write, a.length = &length, a.position = &write;
    a.q += size_t(t) * 6 * 32, a.k += size_t(t) * 2 * 32, a.v += size_t(t) * 2 * 32;
    a.out += size_t(t) * 6 * 32;
    attention(ws, a);
  }
  for (size_t i = 0; i < whole.out.size(); ++i) ASSERT_NEAR(whole.out[i], steps.out[i], 2e-6);
}

TEST_P(AttentionTest, QueryWithoutKeysGivesZeros) {
  Pool pool(2);
  Workspace ws(pool);
  Scene s({1, 4, 2, 1, 16, 32, {0}});
  s.length = {2};  // queries 0 and 1 come before the first key
  attention(ws, s.args());
  for (size_t i = 0; i < 2 * 2 * 16; ++i) EXPECT_EQ(s.out[i], 0.0f);
  EXPECT_NE(s.out[3 * 2 * 16], 0.0f);
}

// Rows past the valid length belong to rolled-back tokens and may hold anything.
TEST_P(AttentionTest, StaleRowsAreNeverRead) {
  Pool pool(1);
  Workspace ws(pool);
  for (const int tokens : {1, 40}) {
    Scene s({1, tokens, 4, 2, 24, 128, {10}, 12});
    const int valid = 10 + tokens;
    for (int h = 0; h < 2; ++h) {
      for (size_t i = (size_t(h) * 128 + valid) * 24; i < size_t(h + 1) * 128 * 24; ++i) {
        s.k_cache[i] = s.v_cache[i] = std::numeric_limits<float>::quiet_NaN();
      }
    }
    attention(ws, s.args());
    for (const float x : s.out) ASSERT_TRUE(std::isfinite(x));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, AttentionTest, ::testing::ValuesIn(available_isas()),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace trtmc::cpu
