#include "cc/backends/openvino/kernels/attention.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

namespace trtmc::cpu {
namespace {

constexpr int kRowsPerUnit = 96;  // query rows that share one pass over keys and values

std::size_t at(int a, int n, int b) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(n) + static_cast<std::size_t>(b);
}

class Job {
 public:
  Job(Workspace& ws, const AttentionArgs& a) : ws_(ws), a_(a), t_(kernels()) {
    group_ = a.q_heads / a.kv_heads;
    block_ = std::clamp(kRowsPerUnit / group_, 1, std::max(1, a.tokens));
    blocks_ = (a.tokens + block_ - 1) / block_;
  }

  void run() {
    const std::size_t d = static_cast<std::size_t>(a_.head_dim);
    q_ = static_cast<float*>(
        ws_.shared(at(a_.batch, a_.tokens, 0) * a_.q_heads * d * sizeof(float)));
    ws_.reserve_local(layout(nullptr, nullptr));
    const int heads = a_.batch * a_.kv_heads;
    if (blocks_ == 1) {  // one loop: a unit updates the cache of its own head first
      ws_.pool().run(heads, [&](int unit, int worker) {
        const int b = unit / a_.kv_heads, head = unit % a_.kv_heads;
        for (int t = 0; t < a_.tokens; ++t) prepare(b, head, t);
        attend(b, head, 0, worker);
      });
      return;
    }
    ws_.pool().run(heads, [&](int unit, int) {
      for (int t = 0; t < a_.tokens; ++t) prepare(unit / a_.kv_heads, unit % a_.kv_heads, t);
    });
    // Later blocks see more keys: they go first, so that the short ones even out the end.
    ws_.pool().run(heads * blocks_, [&](int unit, int worker) {
      const int head = unit % heads, block = blocks_ - 1 - unit / heads;
      attend(head / a_.kv_heads, head % a_.kv_heads, block, worker);
    });
  }

 private:
  struct Local {
    const float** q;
    int* first;
    int* last;
    AttentionState state;
    float* scratch;
  };

  // Places a unit's arrays at `base`; returns the bytes needed.
  std::size_t layout(std::byte* base, Local* out) const {
    const std::size_t rows = static_cast<std::size_t>(block_ * group_);
    std::size_t used = 0;
    auto take = [&](std::size_t bytes) {
      std::byte* p = base == nullptr ? nullptr : base + used;
      used += (bytes + 63) / 64 * 64;
      return p;
    };
    Local l{};
    l.q = reinterpret_cast<const float**>(take(rows * sizeof(float*)));
    l.first = reinterpret_cast<int*>(take(rows * sizeof(int)));
    l.last = reinterpret_cast<int*>(take(rows * sizeof(int)));
    l.state.max = reinterpret_cast<float*>(take(rows * sizeof(float)));
    l.state.sum = reinterpret_cast<float*>(take(rows * sizeof(float)));
    l.state.acc = reinterpret_cast<float*>(
        take(rows * static_cast<std::size_t>(attention_stride(a_.head_dim)) * sizeof(float)));
    l.scratch = reinterpret_cast<float*>(take(attention_scratch(a_.head_dim) * sizeof(float)));
    if (out != nullptr) *out = l;
    return used;
  }

  float* rotated_q(int b, int t, int head) const {
    return q_ + (at(b, a_.tokens, t) * a_.q_heads + head) * a_.head_dim;
  }

  // Rotates and stores what token t of element b adds to one key/value head, and its queries.
  void prepare(int b, int head, int t) const {
    const int d = a_.head_dim, half = a_.rotary_half;
    const std::size_t token = at(b, a_.tokens, t);
    const float *cos = nullptr, *sin = nullptr;
    if (half > 0) {
      cos = a_.cos + at(a_.position[token], half, 0);
      sin = a_.sin + at(a_.position[token], half, 0);
    }
    const std::size_t source = (token * a_.kv_heads + head) * d;
    const std::size_t row = (at(b, a_.kv_heads, head) * a_.capacity + a_.write[b] + t) * d;
    t_.rotate(a_.k + source, cos, sin, half, d, a_.interleaved, 1.0f, a_.k_cache + row);
    std::memcpy(a_.v_cache + row, a_.v + source, static_cast<std::size_t>(d) * sizeof(float));
    for (int g = 0; g < group_; ++g) {
      const int h = head * group_ + g;
      t_.rotate(a_.q + (token * a_.q_heads + h) * d, cos, sin, half, d, a_.interleaved, a_.scale,
                rotated_q(b, t, h));
    }
  }

  void attend(int b, int head, int block, int worker) const {
    Local l;
    layout(static_cast<std::byte*>(ws_.local_at(worker)), &l);
    const int t0 = block * block_, t1 = std::min(a_.tokens, t0 + block_);
    const int rows = (t1 - t0) * group_, d = a_.head_dim, stride = attention_stride(d);
    AttentionBlock kv;
    kv.begin = a_.capacity;
    for (int r = 0; r < rows; ++r) {
      const int t = t0 + r / group_;
      l.q[r] = rotated_q(b, t, head * group_ + r % group_);
      l.last[r] = std::clamp(t + a_.length[b] - a_.tokens + 1, 0, a_.length[b]);
      l.first[r] = a_.window > 0 ? std::max(0, l.last[r] - a_.window) : 0;
      kv.begin = std::min(kv.begin, l.first[r]);
      kv.end = std::max(kv.end, l.last[r]);
    }
    std::fill(l.state.max, l.state.max + rows, -std::numeric_limits<float>::infinity());
    std::fill(l.state.sum, l.state.sum + rows, 0.0f);
    std::fill(l.state.acc, l.state.acc + at(rows, stride, 0), 0.0f);
    kv.q = l.q;
    kv.first = l.first;
    kv.last = l.last;
    kv.rows = rows;
    kv.head_dim = d;
    kv.k = a_.k_cache + at(b, a_.kv_heads, head) * a_.capacity * d;
    kv.v = a_.v_cache + at(b, a_.kv_heads, head) * a_.capacity * d;
    kv.scratch = l.scratch;
    t_.attend(kv, l.state);
    for (int r = 0; r < rows; ++r) {
      const int t = t0 + r / group_, h = head * group_ + r % group_;
      float* out = a_.out + (at(b, a_.tokens, t) * a_.q_heads + h) * d;
      const float* acc = l.state.acc + at(r, stride, 0);
      const float norm = l.state.sum[r] > 0 ? 1.0f / l.state.sum[r] : 0.0f;
      for (int i = 0; i < d; ++i) out[i] = acc[i] * norm;
    }
  }

  Workspace& ws_;
  const AttentionArgs& a_;
  const KernelTable& t_;
  int group_ = 1, block_ = 1, blocks_ = 1;
  float* q_ = nullptr;
};

}  // namespace

void attention(Workspace& ws, const AttentionArgs& args) {
  if (args.batch > 0 && args.tokens > 0) Job(ws, args).run();
}

}  // namespace trtmc::cpu
