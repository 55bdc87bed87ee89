#include "cc/backends/openvino/ops/linear_op.h"

#include <openvino/core/attribute_visitor.hpp>

namespace trtmc::ovops {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;

// Raw weights are the bytes of an [n, k] matrix, no more and no less.
Status expect_raw(const InputSpec& w, cpu::WeightType type, std::int64_t n, std::int64_t k) {
  TRTMC_RETURN_IF_ERROR(expect_dtype(w, "weight", DType::kUInt8));
  TRTMC_RETURN_IF_ERROR(expect_rank(w, "weight", 1, 1));
  const auto bytes = static_cast<std::int64_t>(cpu::weight_bytes(type));
  if (n > kMaxElements / k) {
    return bad_model("a matrix of " + std::to_string(n) + " x " + std::to_string(k) +
                     " is larger than any that this version accepts");
  }
  return expect_size(w.shape[0], n * k * bytes, "weight", "n·k·bytes of weight_type");
}

bool is_aligned(const void* p, cpu::WeightType type) {
  return reinterpret_cast<std::uintptr_t>(p) % cpu::weight_bytes(type) == 0;
}

Status misaligned() {
  return bad_model("raw weights are not aligned to their type; offsets must be multiples of 64");
}

}  // namespace

Result<cpu::WeightType> parse_weight_type(const std::string& name) {
  if (name == "f16") return cpu::WeightType::kF16;
  if (name == "bf16") return cpu::WeightType::kBF16;
  if (name == "f32") return cpu::WeightType::kF32;
  return bad_model("attribute weight_type is \"" + name + "\", expected f16, bf16 or f32");
}

Result<cpu::Compute> parse_compute(const std::string& name) {
  if (name == "f32") return cpu::Compute::kF32;
  if (name == "bf16") return cpu::Compute::kBF16;
  return bad_model("attribute compute is \"" + name + "\", expected f32 or bf16");
}

Linear::Linear(const ov::OutputVector& inputs, const Linear& a)
    : TrtmcOp(inputs),
      n_(a.n_),
      k_(a.k_),
      weight_type_(a.weight_type_),
      compute_(a.compute_),
      bias_(a.bias_),
      residual_(a.residual_) {
  constructor_validate_and_infer_types();
}

bool Linear::visit_attributes(ov::AttributeVisitor& visitor) {
  visitor.on_attribute("n", n_);
  visitor.on_attribute("k", k_);
  visitor.on_attribute("weight_type", weight_type_);
  visitor.on_attribute("bias", bias_);
  visitor.on_attribute("residual", residual_);
  visitor.on_attribute("compute", compute_);
  return true;
}

std::shared_ptr<ov::Node> Linear::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  check_new_args_count(this, inputs);
  return std::make_shared<Linear>(inputs, *this);
}

void Linear::set_compute(cpu::Compute compute) {
  compute_ = compute == cpu::Compute::kBF16 ? "bf16" : "f32";
}

cpu::Compute Linear::compute_type() const {
  const Result<cpu::Compute> parsed = parse_compute(compute_);
  return parsed.is_ok() ? *parsed : cpu::Compute::kF32;
}

Result<Shape> Linear::infer(std::span<const InputSpec> in) const {
  TRTMC_RETURN_IF_ERROR(expect_inputs(in, 2u + (bias_ ? 1 : 0) + (residual_ ? 1 : 0)));
  TRTMC_RETURN_IF_ERROR(expect_positive(n_, "n"));
  TRTMC_RETURN_IF_ERROR(expect_positive(k_, "k"));
  TRTMC_ASSIGN_OR_RETURN(const cpu::WeightType type, parse_weight_type(weight_type_));
  TRTMC_RETURN_IF_ERROR(parse_compute(compute_).status());
  const InputSpec& x = in[0];
  TRTMC_RETURN_IF_ERROR(expect_dtype(x, "x", DType::kFloat32));
  TRTMC_RETURN_IF_ERROR(expect_rank(x, "x", 1, kMaxRank));
  TRTMC_RETURN_IF_ERROR(expect_size(x.shape[x.shape.rank() - 1], k_, "x", "k"));
  TRTMC_RETURN_IF_ERROR(expect_raw(in[1], type, n_, k_));
  Shape out = x.shape;
  out[out.rank() - 1] = n_;
  std::size_t next = 2;
  if (bias_) {
    const InputSpec& b = in[next++];
    TRTMC_RETURN_IF_ERROR(expect_dtype(b, "bias", DType::kFloat32));
    TRTMC_RETURN_IF_ERROR(expect_rank(b, "bias", 1, 1));
    TRTMC_RETURN_IF_ERROR(expect_size(b.shape[0], n_, "bias", "n"));
  }
  if (residual_) {
    const InputSpec& r = in[next];
    TRTMC_RETURN_IF_ERROR(expect_dtype(r, "residual", DType::kFloat32));
    TRTMC_RETURN_IF_ERROR(expect_rank(r, "residual", out.rank(), out.rank()));
    for (std::size_t i = 0; i < out.rank(); ++i) {
      TRTMC_RETURN_IF_ERROR(expect_size(r.shape[i], out[i], "residual", "the output"));
    }
  }
  return out;
}

cpu::LinearJob Linear::job(std::span<const Tensor> in, const Tensor& output) const {
  cpu::LinearJob job;
  job.weight = in[1].data;
  job.type = parse_weight_type(weight_type_).value();
  job.n = static_cast<int>(n_);
  std::size_t next = 2;
  if (bias_) job.bias = static_cast<const float*>(in[next++].data);
  if (residual_) job.residual = static_cast<const float*>(in[next].data);
  job.y = static_cast<float*>(output.data);
  return job;
}

Status Linear::check(std::span<const Tensor> in) const {
  if (!is_aligned(in[1].data, parse_weight_type(weight_type_).value())) return misaligned();
  const std::int64_t rows = in[0].shape.elements() / k_;
  if (rows > kMaxRows) return bad_model("too many rows: " + std::to_string(rows));
  return Status::ok();
}

Status Linear::compute(cpu::Workspace& ws, std::span<const Tensor> in, const Tensor& output) const {
  TRTMC_RETURN_IF_ERROR(check(in));
  const cpu::LinearJob one = job(in, output);
  cpu::linear(ws, {&one, 1}, static_cast<const float*>(in[0].data),
              static_cast<int>(in[0].shape.elements() / k_), k(), compute_type());
  return Status::ok();
}

EmbeddingGather::EmbeddingGather(const ov::OutputVector& inputs, const EmbeddingGather& a)
    : TrtmcOp(inputs), rows_(a.rows_), n_(a.n_), weight_type_(a.weight_type_) {
  constructor_validate_and_infer_types();
}

bool EmbeddingGather::visit_attributes(ov::AttributeVisitor& visitor) {
  visitor.on_attribute("rows", rows_);
  visitor.on_attribute("n", n_);
  visitor.on_attribute("weight_type", weight_type_);
  return true;
}

std::shared_ptr<ov::Node> EmbeddingGather::clone_with_new_inputs(
    const ov::OutputVector& inputs) const {
  check_new_args_count(this, inputs);
  return std::make_shared<EmbeddingGather>(inputs, *this);
}

Result<Shape> EmbeddingGather::infer(std::span<const InputSpec> in) const {
  TRTMC_RETURN_IF_ERROR(expect_inputs(in, 2));
  TRTMC_RETURN_IF_ERROR(expect_positive(rows_, "rows"));
  TRTMC_RETURN_IF_ERROR(expect_positive(n_, "n"));
  TRTMC_ASSIGN_OR_RETURN(const cpu::WeightType type, parse_weight_type(weight_type_));
  TRTMC_RETURN_IF_ERROR(expect_index(in[0], "ids"));
  TRTMC_RETURN_IF_ERROR(expect_rank(in[0], "ids", 0, kMaxRank - 1));
  TRTMC_RETURN_IF_ERROR(expect_raw(in[1], type, rows_, n_));
  Shape out = in[0].shape;
  out.push_back(n_);
  return out;
}

Status EmbeddingGather::compute(cpu::Workspace&, std::span<const Tensor> in,
                                const Tensor& output) const {
  TRTMC_ASSIGN_OR_RETURN(const cpu::WeightType type, parse_weight_type(weight_type_));
  if (!is_aligned(in[1].data, type)) return misaligned();
  TRTMC_ASSIGN_OR_RETURN(const std::vector<int> ids, read_indices(in[0], 0, rows_, "ids"));
  const std::size_t row_bytes = static_cast<std::size_t>(n_) * cpu::weight_bytes(type);
  auto* out = static_cast<float*>(output.data);
  for (const int id : ids) {
    cpu::kernels().decode(
        type, static_cast<const std::byte*>(in[1].data) + static_cast<std::size_t>(id) * row_bytes,
        out, static_cast<int>(n_));
    out += n_;
  }
  return Status::ok();
}

}  // namespace trtmc::ovops
