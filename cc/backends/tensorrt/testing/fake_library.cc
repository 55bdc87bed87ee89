#include "cc/backends/tensorrt/testing/fake_library.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace trtmc::tensorrt::testing {
namespace {

using trtmc::testing::TableBackend;
using trtmc::testing::TableModel;

Status refuse(const std::string& what) { return internal_error("fake.library", what); }

// One end of a profile's range; without a profile, or for what it leaves open, -1.
Shape shape_at(const TensorSpec& spec, const Profile* profile, std::int64_t DimRange::*side) {
  Shape shape;
  for (const Dim& dim : spec.shape) {
    std::int64_t size = -1;
    if (const auto* fixed = std::get_if<std::int64_t>(&dim)) {
      size = *fixed;
    } else if (profile != nullptr) {
      const auto it = profile->dims.find(std::get<std::string>(dim));
      if (it != profile->dims.end()) size = it->second.*side;
    }
    shape.push_back(size);
  }
  return shape;
}

class FakeContext final : public Context {
 public:
  FakeContext(FakeDevice& device, const FakePlanFacts& facts, const TableModel& model,
              std::shared_ptr<FakeLibraryLog> log)
      : device_(device), facts_(facts), log_(std::move(log)), table_(log_->runs) {
    ++log_->contexts;
    engine_ = table_.make_engine(model, facts_.contract);
    session_ = std::move(engine_->create_session()).value();
  }
  ~FakeContext() override { --log_->contexts; }

  Status set_profile(int index, StreamHandle) override {
    profile_ = &facts_.contract.profiles.at(static_cast<std::size_t>(index));
    log_->calls.push_back("profile " + profile_->name);
    return Status::ok();
  }

  Status set_scratch(void* memory, std::size_t bytes) override {
    if (!device_.is_device_memory(memory, bytes)) return refuse("scratch is not device memory");
    scratch_ = bytes;
    log_->calls.push_back("scratch " + std::to_string(bytes));
    return Status::ok();
  }

  Status set_shape(const std::string& input, const Shape& shape) override {
    if (profile_ == nullptr) return refuse("shape before profile");
    log_->calls.push_back("shape " + input + " " + to_string(shape));
    shapes_[input] = shape;
    return Status::ok();
  }

  Status set_address(const std::string& tensor, void* memory) override {
    if (!device_.is_device_memory(memory, 1)) return refuse(tensor + " is not device memory");
    log_->calls.push_back("address " + tensor);
    log_->addresses[tensor] = addresses_[tensor] = memory;
    return Status::ok();
  }

  Result<Shape> shape(const std::string& tensor) override {
    if (const TensorSpec* spec = facts_.contract.find_input(tensor)) return input_shape(*spec);
    const TensorSpec* spec = facts_.contract.find_output(tensor);
    if (spec == nullptr) return refuse("no tensor " + tensor);
    std::map<std::string, std::int64_t, std::less<>> dims;
    for (const TensorSpec& input : facts_.contract.inputs) {
      const Shape shape = input_shape(input);
      for (std::size_t i = 0; i < input.shape.size(); ++i) {
        if (const auto* name = std::get_if<std::string>(&input.shape[i])) dims[*name] = shape[i];
      }
    }
    return resolve_shape(*spec, dims);
  }

  Status enqueue(StreamHandle stream) override;

 private:
  Shape input_shape(const TensorSpec& spec) const {
    const auto it = shapes_.find(spec.name);
    return it != shapes_.end() ? it->second : shape_at(spec, nullptr, &DimRange::min);
  }
  Result<Tensor> view(const TensorSpec& spec, const Shape& shape) const;

  FakeDevice& device_;
  const FakePlanFacts& facts_;
  std::shared_ptr<FakeLibraryLog> log_;
  TableBackend table_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  const Profile* profile_ = nullptr;
  std::size_t scratch_ = 0;
  std::map<std::string, Shape> shapes_;
  std::map<std::string, void*> addresses_;
};

Result<Tensor> FakeContext::view(const TensorSpec& spec, const Shape& shape) const {
  const auto it = addresses_.find(spec.name);
  if (it == addresses_.end()) return refuse("no address for " + spec.name);
  const Tensor tensor{it->second, spec.dtype, MemoryKind::kHost, 0, shape};
  for (const std::int64_t d : shape.dims()) {
    if (d < 0) return refuse("no shape for " + spec.name);
  }
  if (device_.is_device_memory(tensor.data, tensor.bytes())) return tensor;
  return refuse(spec.name + " is larger than the memory at its address");
}

Status FakeContext::enqueue(StreamHandle stream) {
  if (profile_ == nullptr) return refuse("no profile");
  if (scratch_ < facts_.scratch_bytes) return refuse("no scratch memory");
  for (const auto& [name, weight] : facts_.weights) {
    if (!addresses_.contains(name)) return refuse("no address for weight " + name);
  }
  TensorMap inputs;
  for (const TensorSpec& spec : facts_.contract.inputs) {
    TRTMC_ASSIGN_OR_RETURN(inputs[spec.name], view(spec, input_shape(spec)));
  }
  TensorMap outputs;
  for (const TensorSpec& spec : facts_.contract.outputs) {
    TRTMC_ASSIGN_OR_RETURN(const Shape shape, this->shape(spec.name));
    TRTMC_ASSIGN_OR_RETURN(outputs[spec.name], view(spec, shape));
  }
  for (const StatePair& pair : facts_.contract.state) {
    if (inputs[pair.input].data != outputs[pair.output].data) {
      return refuse("state " + pair.input + " is not updated in place");
    }
  }
  // As in a captured graph, addresses and shapes are those of now; the values are read later.
  return device_.enqueue("enqueue " + profile_->name, stream, [this, inputs, outputs] {
    TRTMC_RETURN_IF_ERROR(session_->set_profile(profile_->name));
    for (const auto& [name, tensor] : inputs) TRTMC_RETURN_IF_ERROR(session_->bind(name, tensor));
    TRTMC_RETURN_IF_ERROR(session_->run());
    TRTMC_ASSIGN_OR_RETURN(const Tensor logits, session_->output("logits"));
    const Tensor& to = outputs.at("logits");
    if (!(logits.shape == to.shape)) return refuse("wrong logits shape");
    std::memcpy(to.data, logits.data, logits.bytes());
    return Status::ok();
  });
}

class FakePlan final : public Plan {
 public:
  FakePlan(std::shared_ptr<FakeDevice> device, FakePlanFacts facts, TableModel model,
           std::shared_ptr<FakeLibraryLog> log)
      : device_(std::move(device)),
        facts_(std::move(facts)),
        model_(std::move(model)),
        log_(std::move(log)) {
    for (const TensorSpec& spec : facts_.contract.inputs) add(spec, true);
    for (const TensorSpec& spec : facts_.contract.outputs) add(spec, false);
    for (const auto& [name, weight] : facts_.weights) {
      tensors_.push_back({name, weight.dtype, weight.shape, true, true});
    }
  }

  const std::vector<PlanTensor>& tensors() const override { return tensors_; }
  int profiles() const override { return static_cast<int>(facts_.contract.profiles.size()); }

  Result<ShapeRange> profile_range(const std::string& input, int profile) const override {
    const TensorSpec* spec = facts_.contract.find_input(input);
    const Profile& of = facts_.contract.profiles.at(static_cast<std::size_t>(profile));
    if (spec == nullptr) return refuse("no input " + input);
    return ShapeRange{shape_at(*spec, &of, &DimRange::min), shape_at(*spec, &of, &DimRange::max)};
  }

  std::uint64_t scratch_bytes(int profile) const override {
    return facts_.scratch_bytes * static_cast<std::uint64_t>(profile + 1);
  }

  Result<std::unique_ptr<Context>> create_context(const JitOptions& options) override {
    log_->calls.push_back(options.eager ? "context eager" : "context");
    return std::make_unique<FakeContext>(*device_, facts_, model_, log_);
  }

  std::vector<std::byte> jit_cache() override { return {std::byte{'j'}, std::byte{'i'}}; }

 private:
  void add(const TensorSpec& spec, bool input) {
    const auto& host = facts_.on_host;
    const bool on_device = std::find(host.begin(), host.end(), spec.name) == host.end();
    tensors_.push_back(
        {spec.name, spec.dtype, shape_at(spec, nullptr, &DimRange::min), input, on_device});
  }

  std::shared_ptr<FakeDevice> device_;
  FakePlanFacts facts_;
  TableModel model_;
  std::shared_ptr<FakeLibraryLog> log_;
  std::vector<PlanTensor> tensors_;
};

}  // namespace

std::string FakeLibraryLog::take() {
  std::string text;
  for (const std::string& call : calls) text += (text.empty() ? "" : "; ") + call;
  calls.clear();
  return text;
}

Result<std::unique_ptr<Plan>> FakeLibrary::deserialize(std::span<const std::byte> plan,
                                                       std::span<const std::byte> jit_cache) {
  log_->calls.push_back("deserialize jit " + std::to_string(jit_cache.size()));
  auto model = TableModel::parse(plan);
  if (!model.is_ok()) return model.status();
  return std::make_unique<FakePlan>(device_, facts_, *std::move(model), log_);
}

}  // namespace trtmc::tensorrt::testing
