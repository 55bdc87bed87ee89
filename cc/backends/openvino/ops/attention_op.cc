#include "cc/backends/openvino/ops/attention_op.h"

#include <cmath>
#include <openvino/core/attribute_visitor.hpp>

#include "cc/backends/openvino/kernels/attention.h"

namespace trtmc::ovops {
namespace {

constexpr std::int64_t kMaxHeadDim = 4096;

}  // namespace

Attention::Attention(const ov::OutputVector& inputs, const Attention& a)
    : TrtmcOp(inputs),
      q_heads_(a.q_heads_),
      kv_heads_(a.kv_heads_),
      head_dim_(a.head_dim_),
      rotary_dim_(a.rotary_dim_),
      window_(a.window_),
      scale_(a.scale_),
      rotary_(a.rotary_) {
  constructor_validate_and_infer_types();
}

bool Attention::visit_attributes(ov::AttributeVisitor& visitor) {
  visitor.on_attribute("q_heads", q_heads_);
  visitor.on_attribute("kv_heads", kv_heads_);
  visitor.on_attribute("head_dim", head_dim_);
  visitor.on_attribute("scale", scale_);
  visitor.on_attribute("rotary", rotary_);
  visitor.on_attribute("rotary_dim", rotary_dim_);
  visitor.on_attribute("window", window_);
  return true;
}

std::shared_ptr<ov::Node> Attention::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  check_new_args_count(this, inputs);
  return std::make_shared<Attention>(inputs, *this);
}

Status Attention::check_attributes() const {
  TRTMC_RETURN_IF_ERROR(expect_positive(q_heads_, "q_heads"));
  TRTMC_RETURN_IF_ERROR(expect_positive(kv_heads_, "kv_heads"));
  TRTMC_RETURN_IF_ERROR(expect_positive(head_dim_, "head_dim"));
  if (head_dim_ > kMaxHeadDim || q_heads_ * head_dim_ > 0x7FFFFFFF) {
    return bad_model("attribute head_dim is " + std::to_string(head_dim_) + ", expected at most " +
                     std::to_string(kMaxHeadDim));
  }
  if (q_heads_ % kv_heads_ != 0) {
    return bad_model("q_heads " + std::to_string(q_heads_) + " is not a multiple of kv_heads " +
                     std::to_string(kv_heads_));
  }
  if (!std::isfinite(scale_) || scale_ == 0) return bad_model("attribute scale is not a number");
  if (window_ < 0 || window_ > 0x7FFFFFFF) {
    return bad_model("attribute window is " + std::to_string(window_) + ", expected 0 or more");
  }
  if (rotary_ == "none") {
    if (rotary_dim_ == 0) return Status::ok();
    return bad_model("attribute rotary_dim must be 0 with rotary \"none\"");
  }
  if (rotary_ != "half" && rotary_ != "interleaved") {
    return bad_model("attribute rotary is \"" + rotary_ + "\", expected none, half or interleaved");
  }
  if (rotary_dim_ <= 0 || rotary_dim_ % 2 != 0 || rotary_dim_ > head_dim_) {
    return bad_model("attribute rotary_dim is " + std::to_string(rotary_dim_) +
                     ", expected an even number up to head_dim " + std::to_string(head_dim_));
  }
  return Status::ok();
}

Status Attention::check_caches(std::span<const InputSpec> in) const {
  static constexpr const char* kNames[] = {"k_cache", "v_cache"};
  const std::int64_t batch = in[kQ].shape[0];
  for (const std::size_t i : {kKCache, kVCache}) {
    const char* name = kNames[i - kKCache];
    TRTMC_RETURN_IF_ERROR(expect_dtype(in[i], name, DType::kFloat32));
    TRTMC_RETURN_IF_ERROR(expect_rank(in[i], name, 4, 4));
    TRTMC_RETURN_IF_ERROR(expect_size(in[i].shape[0], batch, name, "the batch of q"));
    TRTMC_RETURN_IF_ERROR(expect_size(in[i].shape[1], kv_heads_, name, "kv_heads"));
    TRTMC_RETURN_IF_ERROR(expect_size(in[i].shape[2], in[kKCache].shape[2], name, "k_cache"));
    TRTMC_RETURN_IF_ERROR(expect_size(in[i].shape[3], head_dim_, name, "head_dim"));
    if (in[i].shape[2] > 0x3FFFFFFF) return bad_model("the cache has too many rows");
  }
  for (const std::size_t i : {kWrite, kLength}) {
    const char* name = i == kWrite ? "write_indices" : "kv_lengths";
    TRTMC_RETURN_IF_ERROR(expect_index(in[i], name));
    TRTMC_RETURN_IF_ERROR(expect_rank(in[i], name, 1, 1));
    TRTMC_RETURN_IF_ERROR(expect_size(in[i].shape[0], batch, name, "the batch of q"));
  }
  return Status::ok();
}

Status Attention::check_rotary(std::span<const InputSpec> in) const {
  if (rotary_ == "none") return Status::ok();
  TRTMC_RETURN_IF_ERROR(expect_index(in[kPosition], "position_ids"));
  TRTMC_RETURN_IF_ERROR(expect_rank(in[kPosition], "position_ids", 2, 2));
  for (const std::size_t axis : {0, 1}) {
    TRTMC_RETURN_IF_ERROR(
        expect_size(in[kPosition].shape[axis], in[kQ].shape[axis], "position_ids", "q"));
  }
  for (const std::size_t i : {kCos, kSin}) {
    const char* name = i == kCos ? "cos" : "sin";
    TRTMC_RETURN_IF_ERROR(expect_dtype(in[i], name, DType::kFloat32));
    TRTMC_RETURN_IF_ERROR(expect_rank(in[i], name, 2, 2));
    TRTMC_RETURN_IF_ERROR(expect_size(in[i].shape[1], rotary_dim_ / 2, name, "rotary_dim / 2"));
    TRTMC_RETURN_IF_ERROR(expect_size(in[i].shape[0], in[kCos].shape[0], name, "cos"));
  }
  return Status::ok();
}

Result<Shape> Attention::infer(std::span<const InputSpec> in) const {
  TRTMC_RETURN_IF_ERROR(check_attributes());
  TRTMC_RETURN_IF_ERROR(expect_inputs(in, rotary_ == "none" ? 7 : 10));
  static constexpr const char* kNames[] = {"q", "k", "v"};
  for (const std::size_t i : {kQ, kK, kV}) {
    TRTMC_RETURN_IF_ERROR(expect_dtype(in[i], kNames[i], DType::kFloat32));
    TRTMC_RETURN_IF_ERROR(expect_rank(in[i], kNames[i], 3, 3));
    TRTMC_RETURN_IF_ERROR(expect_size(in[i].shape[0], in[kQ].shape[0], kNames[i], "q"));
    TRTMC_RETURN_IF_ERROR(expect_size(in[i].shape[1], in[kQ].shape[1], kNames[i], "q"));
    TRTMC_RETURN_IF_ERROR(expect_size(in[i].shape[2], (i == kQ ? q_heads_ : kv_heads_) * head_dim_,
                                      kNames[i], "heads · head_dim"));
  }
  TRTMC_RETURN_IF_ERROR(check_caches(in));
  TRTMC_RETURN_IF_ERROR(check_rotary(in));
  Shape out = in[kQ].shape;
  out[2] = q_heads_ * head_dim_;
  return out;
}

Status Attention::compute(cpu::Workspace& ws, std::span<const Tensor> in,
                          const Tensor& output) const {
  const std::int64_t capacity = in[kKCache].shape[2], tokens = in[kQ].shape[1];
  if (tokens > capacity) {
    return bad_input("backend.bad_value", std::to_string(tokens) +
                                              " tokens do not fit into a cache of " +
                                              std::to_string(capacity) + " rows");
  }
  TRTMC_ASSIGN_OR_RETURN(const std::vector<int> write,
                         read_indices(in[kWrite], 0, capacity - tokens + 1, "write_indices"));
  TRTMC_ASSIGN_OR_RETURN(const std::vector<int> length,
                         read_indices(in[kLength], 0, capacity + 1, "kv_lengths"));
  std::vector<int> position;
  cpu::AttentionArgs a;
  if (rotary_ != "none") {
    TRTMC_ASSIGN_OR_RETURN(position,
                           read_indices(in[kPosition], 0, in[kCos].shape[0], "position_ids"));
    a.position = position.data();
    a.cos = static_cast<const float*>(in[kCos].data);
    a.sin = static_cast<const float*>(in[kSin].data);
    a.rotary_half = static_cast<int>(rotary_dim_ / 2);
    a.interleaved = rotary_ == "interleaved";
  }
  a.q = static_cast<const float*>(in[kQ].data);
  a.k = static_cast<const float*>(in[kK].data);
  a.v = static_cast<const float*>(in[kV].data);
  a.k_cache = static_cast<float*>(in[kKCache].data);
  a.v_cache = static_cast<float*>(in[kVCache].data);
  a.out = static_cast<float*>(output.data);
  a.batch = static_cast<int>(in[kQ].shape[0]);
  a.tokens = static_cast<int>(tokens);
  a.q_heads = static_cast<int>(q_heads_);
  a.kv_heads = static_cast<int>(kv_heads_);
  a.head_dim = static_cast<int>(head_dim_);
  a.capacity = static_cast<int>(capacity);
  a.write = write.data();
  a.length = length.data();
  a.scale = static_cast<float>(scale_);
  a.window = static_cast<int>(window_);
  cpu::attention(ws, a);
  return Status::ok();
}

}  // namespace trtmc::ovops
