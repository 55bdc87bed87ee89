// TrtmcOp: base of the operators of the set "trtmc" (README.md).
//
// An operator says twice what it needs: infer() checks types and shapes, known or partly known,
// and gives the output's shape; compute() checks values and does the work. OpenVINO's validation
// and evaluate() are built on the two, and so is the backend's own executor (program.h).
#pragma once

#include <openvino/op/op.hpp>
#include <span>
#include <string>

#include "cc/backends/openvino/kernels/workspace.h"
#include "trtmc/status.h"
#include "trtmc/tensor.h"

namespace trtmc::ovops {

// A dimension that is not known yet.
inline constexpr std::int64_t kDynamic = -1;

struct InputSpec {
  DType dtype = DType::kFloat32;
  Shape shape;  // sizes ≥ 0 or kDynamic
};

class TrtmcOp : public ov::op::Op {
 public:
  OPENVINO_OP("Operator", "trtmc");

  // The shape of the one output, which is float32. A failure ("backend.bad_model") says which
  // input or attribute is wrong, without the node's name.
  virtual Result<Shape> infer(std::span<const InputSpec> inputs) const = 0;

  // Runs on inputs that passed infer() with known sizes; `output` has the shape it gave and
  // overlaps no input, except a residual that is the output itself. May throw std::bad_alloc.
  virtual Status compute(cpu::Workspace& ws, std::span<const Tensor> inputs,
                         const Tensor& output) const = 0;

  void validate_and_infer_types() override;
  bool has_evaluate() const override { return true; }
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override;

 protected:
  TrtmcOp() = default;
  explicit TrtmcOp(const ov::OutputVector& inputs) : Op(inputs) {}
};

// Threads for evaluate() inside OpenVINO's plugin, from the next call on (0: all usable CPUs).
void set_evaluation_threads(int threads);

// DType of an OpenVINO element type, if the runtime has it.
std::optional<DType> to_dtype(const ov::element::Type& type);

// "node 'layers.0.q_proj' (Linear): <message>".
std::string node_context(const ov::Node& node);

// --- helpers for infer() ---

inline Status bad_model(std::string message) {
  return bad_input("backend.bad_model", std::move(message));
}

inline bool same_size(std::int64_t a, std::int64_t b) {
  return a == kDynamic || b == kDynamic || a == b;
}

Status expect_inputs(std::span<const InputSpec> inputs, std::size_t count);
Status expect_dtype(const InputSpec& input, const char* name, DType dtype);
Status expect_index(const InputSpec& input, const char* name);  // int32 or int64
Status expect_rank(const InputSpec& input, const char* name, std::size_t least, std::size_t most);
// `what` is for the message: "k", "size" …
Status expect_size(std::int64_t found, std::int64_t wanted, const char* name, const char* what);
Status expect_positive(std::int64_t value, const char* attribute);

// Values of an index tensor of either type as int, each in [low, high); a value outside is
// "backend.bad_value".
Result<std::vector<int>> read_indices(const Tensor& tensor, std::int64_t low, std::int64_t high,
                                      const char* name);

}  // namespace trtmc::ovops
