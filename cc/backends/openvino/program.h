// Program: a model made only of our own operators, as a list of steps to run directly.
//
// A decoder of 30 layers has some 300 operators; a call through OpenVINO's plugin costs 5-7 µs
// each and the compilation 0.1 s. The same operators run from this list cost neither. Operators
// that multiply the same tensor are joined, and intermediate tensors share one arena.
#pragma once

#include <memory>
#include <openvino/core/model.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cc/backends/openvino/ops/linear_op.h"
#include "cc/backends/openvino/ops/op.h"

namespace trtmc::openvino {

// Immutable after build(); shared by sessions.
class Program {
 public:
  // One operator and its values.
  struct Part {
    const ovops::TrtmcOp* op = nullptr;
    std::vector<int> inputs;  // value numbers
    int output = 0;
  };
  // One operator; or several Linears that share x and are computed in one loop; or, if `gated`,
  // two Linears and the GatedActivation of both, whose inputs are never written to memory.
  struct Step {
    std::vector<Part> parts;
    bool gated = false;
  };
  struct Port {
    std::string name;
    int value = 0;
    DType dtype = DType::kFloat32;
    Shape shape;  // ovops::kDynamic where not fixed
  };

  // Nothing if the model has an operator that is not ours: then OpenVINO has to run it. Throws
  // what OpenVINO throws.
  static std::optional<Program> build(std::shared_ptr<ov::Model> model);

  std::size_t values() const { return values_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const std::vector<std::pair<int, Tensor>>& constants() const { return constants_; }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  Program() = default;
  void join_linears();
  void join_gated();

  std::shared_ptr<ov::Model> model_;  // owns the operators
  std::size_t values_ = 0;
  std::vector<Port> inputs_, outputs_;
  std::vector<std::pair<int, Tensor>> constants_;
  std::vector<Step> steps_;
};

// Name, type and shape of a model's input or output, as Ports of `value`.
Result<Program::Port> describe_port(const ov::Output<const ov::Node>& port, int value);

}  // namespace trtmc::openvino
