#include "cc/backends/openvino/ops/elementwise_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <openvino/core/attribute_visitor.hpp>

namespace trtmc::ovops {
namespace {

// Below this many elements a loop is over before a second thread has noticed it.
constexpr std::int64_t kSerialElements = 8192;
constexpr std::int64_t kChunkElements = 4096;

// Calls body(first, count) over [0, units) of `size` elements each, on all threads if it pays.
template <class Body>
void for_units(cpu::Workspace& ws, std::int64_t units, std::int64_t size, Body body) {
  if (units * size <= kSerialElements) {
    body(0, units);
    return;
  }
  std::int64_t per_chunk =
      std::max<std::int64_t>(1, kChunkElements / std::max<std::int64_t>(1, size));
  per_chunk = std::max(per_chunk, (units + 32767) / 32768);
  const auto chunks = static_cast<int>((units + per_chunk - 1) / per_chunk);
  ws.pool().run(chunks, [&](int chunk, int) {
    const std::int64_t first = chunk * per_chunk;
    body(first, std::min(per_chunk, units - first));
  });
}

const float* floats(const Tensor& t) { return static_cast<const float*>(t.data); }

// Two float32 inputs of one shape, which is also the output's.
Result<Shape> infer_pair(std::span<const InputSpec> in, const char* a, const char* b) {
  TRTMC_RETURN_IF_ERROR(expect_inputs(in, 2));
  TRTMC_RETURN_IF_ERROR(expect_dtype(in[0], a, DType::kFloat32));
  TRTMC_RETURN_IF_ERROR(expect_dtype(in[1], b, DType::kFloat32));
  Shape out = in[0].shape;
  TRTMC_RETURN_IF_ERROR(expect_rank(in[1], b, out.rank(), out.rank()));
  for (std::size_t i = 0; i < out.rank(); ++i) {
    TRTMC_RETURN_IF_ERROR(expect_size(in[1].shape[i], out[i], b, a));
    if (out[i] == kDynamic) out[i] = in[1].shape[i];
  }
  return out;
}

Result<cpu::Activation> parse_activation(const std::string& name) {
  if (name == "silu") return cpu::Activation::kSilu;
  if (name == "gelu_tanh") return cpu::Activation::kGeluTanh;
  if (name == "gelu") return cpu::Activation::kGelu;
  if (name == "relu") return cpu::Activation::kRelu;
  if (name == "quick_gelu") return cpu::Activation::kQuickGelu;
  if (name == "mish") return cpu::Activation::kMish;
  return bad_model("attribute activation is \"" + name +
                   "\", expected silu, gelu_tanh, gelu, relu, quick_gelu or mish");
}

}  // namespace

RmsNorm::RmsNorm(const ov::OutputVector& inputs, const RmsNorm& a)
    : TrtmcOp(inputs), size_(a.size_), epsilon_(a.epsilon_) {
  constructor_validate_and_infer_types();
}

bool RmsNorm::visit_attributes(ov::AttributeVisitor& visitor) {
  visitor.on_attribute("size", size_);
  visitor.on_attribute("epsilon", epsilon_);
  return true;
}

std::shared_ptr<ov::Node> RmsNorm::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  check_new_args_count(this, inputs);
  return std::make_shared<RmsNorm>(inputs, *this);
}

Result<Shape> RmsNorm::infer(std::span<const InputSpec> in) const {
  TRTMC_RETURN_IF_ERROR(expect_inputs(in, 2));
  TRTMC_RETURN_IF_ERROR(expect_positive(size_, "size"));
  if (!(epsilon_ >= 0) || !std::isfinite(epsilon_)) {
    return bad_model("attribute epsilon is " + std::to_string(epsilon_) + ", expected 0 or more");
  }
  TRTMC_RETURN_IF_ERROR(expect_dtype(in[0], "x", DType::kFloat32));
  TRTMC_RETURN_IF_ERROR(expect_rank(in[0], "x", 1, kMaxRank));
  TRTMC_RETURN_IF_ERROR(expect_dtype(in[1], "weight", DType::kFloat32));
  TRTMC_RETURN_IF_ERROR(expect_rank(in[1], "weight", 1, 1));
  TRTMC_RETURN_IF_ERROR(expect_size(in[1].shape[0], size_, "weight", "size"));
  const std::int64_t last = in[0].shape[in[0].shape.rank() - 1];
  if (last != kDynamic && last % size_ != 0) {
    return bad_model("input x has width " + std::to_string(last) + ", not a multiple of size " +
                     std::to_string(size_));
  }
  return in[0].shape;
}

Status RmsNorm::compute(cpu::Workspace& ws, std::span<const Tensor> in,
                        const Tensor& output) const {
  const std::int64_t size = size_;
  const float *x = floats(in[0]), *weight = floats(in[1]);
  auto* y = static_cast<float*>(output.data);
  const auto epsilon = static_cast<float>(epsilon_);
  for_units(ws, in[0].shape.elements() / size, size, [&](std::int64_t first, std::int64_t count) {
    cpu::kernels().rms_norm(x + first * size, weight, epsilon, static_cast<int>(size),
                            static_cast<int>(count), y + first * size);
  });
  return Status::ok();
}

GatedActivation::GatedActivation(const ov::OutputVector& inputs, const GatedActivation& a)
    : TrtmcOp(inputs), activation_(a.activation_) {
  constructor_validate_and_infer_types();
}

bool GatedActivation::visit_attributes(ov::AttributeVisitor& visitor) {
  visitor.on_attribute("activation", activation_);
  return true;
}

std::shared_ptr<ov::Node> GatedActivation::clone_with_new_inputs(
    const ov::OutputVector& inputs) const {
  check_new_args_count(this, inputs);
  return std::make_shared<GatedActivation>(inputs, *this);
}

cpu::Activation GatedActivation::kind() const {
  const Result<cpu::Activation> parsed = parse_activation(activation_);
  return parsed.is_ok() ? *parsed : cpu::Activation::kSilu;
}

Result<Shape> GatedActivation::infer(std::span<const InputSpec> in) const {
  TRTMC_RETURN_IF_ERROR(parse_activation(activation_).status());
  return infer_pair(in, "gate", "up");
}

Status GatedActivation::compute(cpu::Workspace& ws, std::span<const Tensor> in,
                                const Tensor& output) const {
  const cpu::Activation activation = kind();
  const float *gate = floats(in[0]), *up = floats(in[1]);
  auto* y = static_cast<float*>(output.data);
  constexpr std::int64_t kUnit = 512;  // an exponential costs some ten additions: split finer
  const std::int64_t total = in[0].shape.elements();
  auto body = [&](std::int64_t first, std::int64_t count) {
    const std::int64_t begin = first * kUnit, end = std::min(total, (first + count) * kUnit);
    cpu::kernels().gated(activation, gate + begin, up + begin, y + begin, static_cast<int>(end - begin));
  };
  for_units(ws, (total + kUnit - 1) / kUnit, kUnit, body);
  return Status::ok();
}

Add::Add(const ov::OutputVector& inputs) : TrtmcOp(inputs) {
  constructor_validate_and_infer_types();
}

std::shared_ptr<ov::Node> Add::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  check_new_args_count(this, inputs);
  return std::make_shared<Add>(inputs);
}

Result<Shape> Add::infer(std::span<const InputSpec> in) const { return infer_pair(in, "a", "b"); }

Status Add::compute(cpu::Workspace& ws, std::span<const Tensor> in, const Tensor& output) const {
  const float *a = floats(in[0]), *b = floats(in[1]);
  auto* y = static_cast<float*>(output.data);
  constexpr std::int64_t kUnit = 1024;
  const std::int64_t total = in[0].shape.elements();
  for_units(ws, (total + kUnit - 1) / kUnit, kUnit, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t begin = first * kUnit, end = std::min(total, (first + count) * kUnit);
    cpu::kernels().add(a + begin, b + begin, y + begin, static_cast<int>(end - begin));
  });
  return Status::ok();
}

GatherRows::GatherRows(const ov::OutputVector& inputs) : TrtmcOp(inputs) {
  constructor_validate_and_infer_types();
}

std::shared_ptr<ov::Node> GatherRows::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  check_new_args_count(this, inputs);
  return std::make_shared<GatherRows>(inputs);
}

Result<Shape> GatherRows::infer(std::span<const InputSpec> in) const {
  TRTMC_RETURN_IF_ERROR(expect_inputs(in, 2));
  TRTMC_RETURN_IF_ERROR(expect_dtype(in[0], "x", DType::kFloat32));
  TRTMC_RETURN_IF_ERROR(expect_rank(in[0], "x", 2, kMaxRank));
  TRTMC_RETURN_IF_ERROR(expect_index(in[1], "rows"));
  TRTMC_RETURN_IF_ERROR(expect_rank(in[1], "rows", 1, 1));
  return Shape{in[1].shape[0], in[0].shape[in[0].shape.rank() - 1]};
}

Status GatherRows::compute(cpu::Workspace&, std::span<const Tensor> in,
                           const Tensor& output) const {
  const std::int64_t width = in[0].shape[in[0].shape.rank() - 1];
  const std::int64_t rows = width == 0 ? 0 : in[0].shape.elements() / width;
  TRTMC_ASSIGN_OR_RETURN(const std::vector<int> wanted, read_indices(in[1], 0, rows, "rows"));
  auto* y = static_cast<float*>(output.data);
  for (const int row : wanted) {
    std::memcpy(y, floats(in[0]) + row * width, static_cast<std::size_t>(width) * sizeof(float));
    y += width;
  }
  return Status::ok();
}

}  // namespace trtmc::ovops
