#include "cc/backends/openvino/ops/op.h"

#include <atomic>
#include <memory>
#include <new>

namespace trtmc::ovops {
namespace {

std::atomic<int>& evaluation_threads() {
  static std::atomic<int> threads{0};
  return threads;
}

// OpenVINO may call evaluate() from threads of its own; each gets scratch memory, all share a pool.
cpu::Workspace& evaluation_workspace() {
  static cpu::Pool pool([] {
    const int wanted = evaluation_threads().load();
    return wanted > 0 ? wanted : cpu::usable_cpus();
  }());
  thread_local cpu::Workspace workspace(pool);
  return workspace;
}

[[noreturn]] void fail(const ov::Node& node, const Status& status) {
  OPENVINO_THROW(status.with_context(node_context(node)).message());
}

}  // namespace

void set_evaluation_threads(int threads) { evaluation_threads().store(threads); }

std::string node_context(const ov::Node& node) {
  return "node '" + node.get_friendly_name() + "' (" + node.get_type_name() + ")";
}

std::optional<DType> to_dtype(const ov::element::Type& type) {
  if (type == ov::element::f32) return DType::kFloat32;
  if (type == ov::element::f16) return DType::kFloat16;
  if (type == ov::element::bf16) return DType::kBFloat16;
  if (type == ov::element::i64) return DType::kInt64;
  if (type == ov::element::i32) return DType::kInt32;
  if (type == ov::element::i8) return DType::kInt8;
  if (type == ov::element::u8) return DType::kUInt8;
  if (type == ov::element::boolean) return DType::kBool;
  return std::nullopt;
}

void TrtmcOp::validate_and_infer_types() {
  std::vector<InputSpec> inputs;
  for (std::size_t i = 0; i < get_input_size(); ++i) {
    const auto dtype = to_dtype(get_input_element_type(i));
    const ov::PartialShape& shape = get_input_partial_shape(i);
    if (!dtype || shape.rank().is_dynamic() || shape.size() > kMaxRank) {
      fail(*this, bad_model("input " + std::to_string(i) + " has an unusable type or rank"));
    }
    InputSpec spec{*dtype, {}};
    for (const ov::Dimension& d : shape) {
      spec.shape.push_back(d.is_static() ? d.get_length() : kDynamic);
    }
    inputs.push_back(spec);
  }
  const Result<Shape> out = infer(inputs);
  if (!out.is_ok()) fail(*this, out.status());
  ov::PartialShape shape;
  for (const std::int64_t d : out->dims()) shape.push_back(d);
  set_output_type(0, ov::element::f32, shape);
}

bool TrtmcOp::evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const {
  std::vector<InputSpec> specs;
  std::vector<Tensor> tensors;
  for (const ov::Tensor& input : inputs) {
    const auto dtype = to_dtype(input.get_element_type());
    if (!dtype || input.get_shape().size() > kMaxRank) fail(*this, bad_model("unusable input"));
    Shape shape;
    for (const std::size_t d : input.get_shape()) shape.push_back(static_cast<std::int64_t>(d));
    specs.push_back({*dtype, shape});
    // The plugin hands out constants and caches as they are; Attention writes to its caches.
    tensors.push_back({const_cast<void*>(input.data()), *dtype, MemoryKind::kHost, 0, shape});
  }
  const Result<Shape> shape = infer(specs);
  if (!shape.is_ok()) fail(*this, shape.status());
  outputs.at(0).set_shape(ov::Shape(shape->dims().begin(), shape->dims().end()));
  const Tensor out{outputs.at(0).data(), DType::kFloat32, MemoryKind::kHost, 0, *shape};
  const Status status = compute(evaluation_workspace(), tensors, out);
  if (!status.is_ok()) fail(*this, status);
  return true;
}

Status expect_inputs(std::span<const InputSpec> inputs, std::size_t count) {
  if (inputs.size() == count) return Status::ok();
  return bad_model("has " + std::to_string(inputs.size()) + " inputs, its attributes ask for " +
                   std::to_string(count));
}

Status expect_dtype(const InputSpec& input, const char* name, DType dtype) {
  if (input.dtype == dtype) return Status::ok();
  return bad_model("input " + std::string(name) + " is " + std::string(dtype_name(input.dtype)) +
                   ", expected " + std::string(dtype_name(dtype)));
}

Status expect_index(const InputSpec& input, const char* name) {
  if (input.dtype == DType::kInt32 || input.dtype == DType::kInt64) return Status::ok();
  return bad_model("input " + std::string(name) + " is " + std::string(dtype_name(input.dtype)) +
                   ", expected int32 or int64");
}

Status expect_rank(const InputSpec& input, const char* name, std::size_t least, std::size_t most) {
  const std::size_t rank = input.shape.rank();
  if (rank >= least && rank <= most) return Status::ok();
  return bad_model("input " + std::string(name) + " has shape " + to_string(input.shape) +
                   ", expected rank " + std::to_string(least) + (most > least ? " or more" : ""));
}

Status expect_size(std::int64_t found, std::int64_t wanted, const char* name, const char* what) {
  if (same_size(found, wanted)) return Status::ok();
  return bad_model("input " + std::string(name) + " has size " + std::to_string(found) + " where " +
                   what + " says " + std::to_string(wanted));
}

Status expect_positive(std::int64_t value, const char* attribute) {
  if (value > 0 && value <= 0x7FFFFFFF) return Status::ok();
  return bad_model("attribute " + std::string(attribute) + " is " + std::to_string(value) +
                   ", expected 1 to 2147483647");
}

Result<std::vector<int>> read_indices(const Tensor& tensor, std::int64_t low, std::int64_t high,
                                      const char* name) {
  const auto count = static_cast<std::size_t>(tensor.shape.elements());
  std::vector<int> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t v = tensor.dtype == DType::kInt64
                               ? static_cast<const std::int64_t*>(tensor.data)[i]
                               : static_cast<const std::int32_t*>(tensor.data)[i];
    if (v < low || v >= high) {
      return bad_input("backend.bad_value",
                       std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(v) +
                           ", expected " + std::to_string(low) + " to " + std::to_string(high - 1));
    }
    out[i] = static_cast<int>(v);
  }
  return out;
}

}  // namespace trtmc::ovops
