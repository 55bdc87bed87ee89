// RmsNorm, GatedActivation, Add and GatherRows: the operators between the matrix products.
#pragma once

#include "cc/backends/openvino/kernels/table.h"
#include "cc/backends/openvino/ops/op.h"

namespace trtmc::ovops {

class RmsNorm final : public TrtmcOp {
 public:
  OPENVINO_OP("RmsNorm", "trtmc", TrtmcOp);
  RmsNorm() = default;
  RmsNorm(const ov::OutputVector& inputs, const RmsNorm& attributes_of);

  Result<Shape> infer(std::span<const InputSpec> inputs) const override;
  Status compute(cpu::Workspace& ws, std::span<const Tensor> inputs,
                 const Tensor& output) const override;
  bool visit_attributes(ov::AttributeVisitor& visitor) override;
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override;

 private:
  std::int64_t size_ = 0;
  double epsilon_ = 0;
};

class GatedActivation final : public TrtmcOp {
 public:
  OPENVINO_OP("GatedActivation", "trtmc", TrtmcOp);
  GatedActivation() = default;
  GatedActivation(const ov::OutputVector& inputs, const GatedActivation& attributes_of);

  Result<Shape> infer(std::span<const InputSpec> inputs) const override;
  Status compute(cpu::Workspace& ws, std::span<const Tensor> inputs,
                 const Tensor& output) const override;
  bool visit_attributes(ov::AttributeVisitor& visitor) override;
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override;

  // The attribute must have passed infer().
  cpu::Activation kind() const;

 private:
  std::string activation_ = "silu";
};

class Add final : public TrtmcOp {
 public:
  OPENVINO_OP("Add", "trtmc", TrtmcOp);
  Add() = default;
  explicit Add(const ov::OutputVector& inputs);

  Result<Shape> infer(std::span<const InputSpec> inputs) const override;
  Status compute(cpu::Workspace& ws, std::span<const Tensor> inputs,
                 const Tensor& output) const override;
  bool visit_attributes(ov::AttributeVisitor&) override { return true; }
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override;
};

class GatherRows final : public TrtmcOp {
 public:
  OPENVINO_OP("GatherRows", "trtmc", TrtmcOp);
  GatherRows() = default;
  explicit GatherRows(const ov::OutputVector& inputs);

  Result<Shape> infer(std::span<const InputSpec> inputs) const override;
  Status compute(cpu::Workspace& ws, std::span<const Tensor> inputs,
                 const Tensor& output) const override;
  bool visit_attributes(ov::AttributeVisitor&) override { return true; }
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override;
};

}  // namespace trtmc::ovops
