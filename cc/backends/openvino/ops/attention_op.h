// Attention: rotary embedding, cache update in place, causal attention.
#pragma once

#include "cc/backends/openvino/ops/op.h"

namespace trtmc::ovops {

class Attention final : public TrtmcOp {
 public:
  OPENVINO_OP("Attention", "trtmc", TrtmcOp);
  // Places of the inputs.
  enum Input : std::size_t { kQ, kK, kV, kKCache, kVCache, kWrite, kLength, kPosition, kCos, kSin };

  Attention() = default;
  Attention(const ov::OutputVector& inputs, const Attention& attributes_of);

  Result<Shape> infer(std::span<const InputSpec> inputs) const override;
  Status compute(cpu::Workspace& ws, std::span<const Tensor> inputs,
                 const Tensor& output) const override;
  bool visit_attributes(ov::AttributeVisitor& visitor) override;
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override;

 private:
  Status check_attributes() const;
  Status check_caches(std::span<const InputSpec> inputs) const;
  Status check_rotary(std::span<const InputSpec> inputs) const;

  std::int64_t q_heads_ = 0, kv_heads_ = 0, head_dim_ = 0, rotary_dim_ = 0, window_ = 0;
  double scale_ = 0;
  std::string rotary_ = "none";
};

}  // namespace trtmc::ovops
