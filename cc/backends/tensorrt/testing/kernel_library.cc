#include "cc/backends/tensorrt/testing/kernel_library.h"

#include <map>
#include <string>

#include "cc/backends/tensorrt/testing/table_step.h"

namespace trtmc::tensorrt::testing {
namespace {

constexpr std::uint64_t kScratch = 1 << 20;

class KernelContext final : public Context {
 public:
  explicit KernelContext(const Contract& contract) : contract_(contract) {
    for (const TensorSpec& spec : contract.inputs) {
      if (const auto shape = resolve_shape(spec, {}); shape.is_ok()) shapes_[spec.name] = *shape;
    }
  }

  Status set_profile(int, StreamHandle) override { return Status::ok(); }
  Status set_scratch(void*, std::size_t bytes) override {
    return bytes >= kScratch ? Status::ok() : internal_error("kernel_library", "scratch");
  }
  Status set_shape(const std::string& input, const Shape& shape) override {
    shapes_[input] = shape;
    return Status::ok();
  }
  Status set_address(const std::string& tensor, void* memory) override {
    addresses_[tensor] = memory;
    return Status::ok();
  }
  Result<Shape> shape(const std::string& tensor) override {
    if (tensor != "logits") return shapes_.at(tensor);
    const auto vocab = std::get<std::int64_t>(contract_.find_output("logits")->shape[1]);
    return Shape{shapes_.at("logit_rows")[0], vocab};
  }

  Status enqueue(StreamHandle stream) override {
    TableStep step;
    step.input_ids = at<std::int64_t>("input_ids");
    step.position_ids = at<std::int64_t>("position_ids");
    step.write_indices = at<std::int32_t>("write_indices");
    step.logit_rows = at<std::int64_t>("logit_rows");
    step.k_cache = at<float>("k_cache_0");
    step.v_cache = at<float>("v_cache_0");
    step.logits = at<float>("logits");
    step.bias = at<float>("bias");
    step.batch = shapes_.at("input_ids")[0];
    step.tokens = shapes_.at("input_ids")[1];
    step.rows = shapes_.at("logit_rows")[0];
    step.capacity = shapes_.at("k_cache_0")[2];
    step.vocab = shape("logits")->dims()[1];
    if (at<float>("k_out_0") != step.k_cache || at<float>("v_out_0") != step.v_cache) {
      return internal_error("kernel_library", "state is not in place");
    }
    const cudaError_t error = launch_table_step(step, static_cast<cudaStream_t>(stream));
    return error == cudaSuccess ? Status::ok()
                                : internal_error("kernel_library", cudaGetErrorString(error));
  }

 private:
  template <class T>
  T* at(const std::string& name) const {
    return static_cast<T*>(addresses_.at(name));
  }
  const Contract& contract_;
  std::map<std::string, Shape> shapes_;
  std::map<std::string, void*> addresses_;
};

class KernelPlan final : public Plan {
 public:
  explicit KernelPlan(Contract contract) : contract_(std::move(contract)) {
    for (const TensorSpec& spec : contract_.inputs) tensors_.push_back(describe(spec, true));
    for (const TensorSpec& spec : contract_.outputs) tensors_.push_back(describe(spec, false));
    tensors_.push_back({"bias", DType::kFloat32, {1}, true, true});
  }

  const std::vector<PlanTensor>& tensors() const override { return tensors_; }
  int profiles() const override { return static_cast<int>(contract_.profiles.size()); }
  Result<ShapeRange> profile_range(const std::string& input, int profile) const override {
    ShapeRange range;
    const Profile& of = contract_.profiles.at(static_cast<std::size_t>(profile));
    for (const Dim& dim : contract_.find_input(input)->shape) {
      const auto* fixed = std::get_if<std::int64_t>(&dim);
      range.min.push_back(fixed ? *fixed : of.dims.at(std::get<std::string>(dim)).min);
      range.max.push_back(fixed ? *fixed : of.dims.at(std::get<std::string>(dim)).max);
    }
    return range;
  }
  std::uint64_t scratch_bytes(int) const override { return kScratch; }
  Result<std::unique_ptr<Context>> create_context(const JitOptions&) override {
    return std::make_unique<KernelContext>(contract_);
  }
  std::vector<std::byte> jit_cache() override { return {}; }

 private:
  static PlanTensor describe(const TensorSpec& spec, bool input) {
    Shape shape;
    for (const Dim& dim : spec.shape) {
      const auto* fixed = std::get_if<std::int64_t>(&dim);
      shape.push_back(fixed ? *fixed : -1);
    }
    return {spec.name, spec.dtype, shape, input, true};
  }
  Contract contract_;
  std::vector<PlanTensor> tensors_;
};

class KernelLibrary final : public Library {
 public:
  explicit KernelLibrary(Contract contract) : contract_(std::move(contract)) {}
  std::string_view version() const override { return "11.4.0"; }
  Result<std::unique_ptr<Plan>> deserialize(std::span<const std::byte>,
                                            std::span<const std::byte>) override {
    return std::make_unique<KernelPlan>(contract_);
  }

 private:
  Contract contract_;
};

}  // namespace

std::shared_ptr<Library> make_kernel_library(const Contract& contract) {
  return std::make_shared<KernelLibrary>(contract);
}

}  // namespace trtmc::tensorrt::testing
