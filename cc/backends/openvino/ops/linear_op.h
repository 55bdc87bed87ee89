// Linear and EmbeddingGather: the operators that read raw checkpoint matrices.
#pragma once

#include "cc/backends/openvino/kernels/linear.h"
#include "cc/backends/openvino/ops/op.h"

namespace trtmc::ovops {

// "f16" | "bf16" | "f32".
Result<cpu::WeightType> parse_weight_type(const std::string& name);
// "f32" | "bf16".
Result<cpu::Compute> parse_compute(const std::string& name);

class Linear final : public TrtmcOp {
 public:
  OPENVINO_OP("Linear", "trtmc", TrtmcOp);
  Linear() = default;
  Linear(const ov::OutputVector& inputs, const Linear& attributes_of);

  Result<Shape> infer(std::span<const InputSpec> inputs) const override;
  Status compute(cpu::Workspace& ws, std::span<const Tensor> inputs,
                 const Tensor& output) const override;
  bool visit_attributes(ov::AttributeVisitor& visitor) override;
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override;

  // What compute() checks: rows and alignment.
  Status check(std::span<const Tensor> inputs) const;
  // This product as a part of a group that shares x; inputs as for compute().
  cpu::LinearJob job(std::span<const Tensor> inputs, const Tensor& output) const;
  bool has_residual() const { return residual_; }
  // The attributes must have passed infer().
  cpu::Compute compute_type() const;
  int k() const { return static_cast<int>(k_); }
  // Replaces the attribute for a whole engine.
  void set_compute(cpu::Compute compute);

 private:
  std::int64_t n_ = 0, k_ = 0;
  std::string weight_type_ = "f16", compute_ = "f32";
  bool bias_ = false, residual_ = false;
};

class EmbeddingGather final : public TrtmcOp {
 public:
  OPENVINO_OP("EmbeddingGather", "trtmc", TrtmcOp);
  EmbeddingGather() = default;
  EmbeddingGather(const ov::OutputVector& inputs, const EmbeddingGather& attributes_of);

  Result<Shape> infer(std::span<const InputSpec> inputs) const override;
  Status compute(cpu::Workspace& ws, std::span<const Tensor> inputs,
                 const Tensor& output) const override;
  bool visit_attributes(ov::AttributeVisitor& visitor) override;
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override;

 private:
  std::int64_t rows_ = 0, n_ = 0;
  std::string weight_type_ = "f16";
};

}  // namespace trtmc::ovops
