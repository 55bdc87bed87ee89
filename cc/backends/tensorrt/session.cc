#include "cc/backends/tensorrt/session.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "cc/backends/bindings/bindings.h"
#include "cc/backends/tensorrt/memory_text.h"
#include "cc/backends/tensorrt/staging.h"

namespace trtmc::tensorrt {
namespace {

constexpr const char* kRemedy = "use a shorter prompt, or a smaller batch";

bool is_dynamic(const TensorSpec& spec) {
  return std::any_of(spec.shape.begin(), spec.shape.end(),
                     [](const Dim& dim) { return std::holds_alternative<std::string>(dim); });
}

// A context and what it was last told.
struct Lane {
  std::unique_ptr<Context> context;
  std::vector<Shape> shapes;  // by input
  std::map<std::string, void*> addresses;
  std::vector<std::int64_t> sizes;  // of the named dimensions, at the last run
  std::uint64_t epoch = 0;          // of the addresses, at the last run
  Graph graph;                      // for `sizes` and `epoch`
  bool capturable = false;
};

class TensorRtSession final : public Session {
 public:
  TensorRtSession(const SessionParts& parts, Stream stream, DeviceBuffer scratch)
      : parts_(parts),
        bindings_(*parts.contract, BindingMemory::kDeviceState),
        stream_(std::move(stream)),
        scratch_(std::move(scratch)),
        lanes_(std::max<std::size_t>(1, parts.contract->profiles.size())) {
    for (const StatePair& pair : parts.contract->state) state_of_[pair.output] = pair.input;
  }

  Status bind(std::string_view name, const Tensor& tensor) override;
  Status set_profile(std::string_view name) override;
  Status run() override;
  Result<Tensor> output(std::string_view name) override;

 private:
  const Contract& contract() const { return *parts_.contract; }

  Result<Lane*> lane();
  Status lay_out(const std::vector<std::int64_t>& sizes);
  Status point(Lane& lane);
  Status set_address(Lane& lane, const std::string& name, void* address);
  void stage_inputs();
  Status record(Lane& lane);
  Status run_lane(Lane& lane, bool repeated);
  Status capture(Lane& lane);

  SessionParts parts_;
  Bindings bindings_;
  Stream stream_;  // before all memory that is ordered on it
  DeviceBuffer scratch_;
  Staging inputs_, outputs_;
  std::vector<Lane> lanes_;                                   // by profile
  std::map<std::string, std::string, std::less<>> state_of_;  // output to input
  std::size_t profile_ = 0;
  std::uint64_t epoch_ = 1;  // counts changes of device addresses
  bool laid_out_ = false;
  std::vector<std::int64_t> laid_out_sizes_;
  TensorMap results_;  // views of the last run
  bool ran_ = false;
};

Status TensorRtSession::bind(std::string_view name, const Tensor& tensor) {
  const std::size_t index = bindings_.index_of(name);
  const Tensor before = index == Bindings::npos ? Tensor{} : bindings_.input(index);
  TRTMC_RETURN_IF_ERROR(bindings_.bind(name, tensor));
  const bool device = tensor.memory == MemoryKind::kDevice;
  if (device && tensor.device != parts_.device->ordinal()) {
    return internal_error("backend.bad_binding",
                          "input \"" + std::string(name) + "\" lies on GPU " +
                              std::to_string(tensor.device) + ", the engine on GPU " +
                              std::to_string(parts_.device->ordinal()));
  }
  if (device != (before.memory == MemoryKind::kDevice) || (device && tensor.data != before.data)) {
    ++epoch_;
    laid_out_ = false;
  }
  return Status::ok();
}

Status TensorRtSession::set_profile(std::string_view name) {
  TRTMC_RETURN_IF_ERROR(bindings_.check_profile(name));
  for (std::size_t i = 0; i < contract().profiles.size(); ++i) {
    if (contract().profiles[i].name == name) profile_ = i;
  }
  return Status::ok();
}

// The context of the chosen profile, made when it is first used.
Result<Lane*> TensorRtSession::lane() {
  Lane& lane = lanes_[profile_];
  if (lane.context) return &lane;
  // Contracts list the general profile first; runs of the others repeat.
  const bool steady = profile_ > 0;
  TRTMC_ASSIGN_OR_RETURN(lane.context, parts_.plan->create_context({.eager = steady}));
  Status status = lane.context->set_profile(static_cast<int>(profile_), stream_.handle());
  if (status.is_ok() && scratch_.bytes() > 0) {
    status = lane.context->set_scratch(scratch_.data(), scratch_.bytes());
  }
  for (const auto& [name, address] : parts_.weights->addresses()) {
    if (status.is_ok()) status = lane.context->set_address(name, address);
  }
  if (!status.is_ok()) {
    lane.context.reset();
    return status;
  }
  lane.shapes.resize(contract().inputs.size());
  lane.capturable = steady;
  return &lane;
}

// Places for what is staged, and views of the outputs, for these sizes.
Status TensorRtSession::lay_out(const std::vector<std::int64_t>& sizes) {
  if (laid_out_ && sizes == laid_out_sizes_) return Status::ok();
  laid_out_ = false;
  inputs_.clear();
  outputs_.clear();
  results_.clear();
  for (std::size_t i = 0; i < contract().inputs.size(); ++i) {
    const Tensor& tensor = bindings_.input(i);
    if (tensor.memory == MemoryKind::kHost) inputs_.add(contract().inputs[i].name, tensor.bytes());
  }
  const DimSizes dims = bindings_.by_name(sizes);
  for (const TensorSpec& spec : contract().outputs) {
    if (state_of_.contains(spec.name)) continue;
    TRTMC_ASSIGN_OR_RETURN(const Shape shape, resolve_shape(spec, dims));
    results_[spec.name] = Tensor{nullptr, spec.dtype, MemoryKind::kHost, 0, shape};
    outputs_.add(spec.name, storage_bytes(spec.dtype, shape));
  }
  for (Staging* staging : {&inputs_, &outputs_}) {
    bool moved = false;
    const Status status = staging->reserve(parts_.device, stream_.handle(), moved);
    if (moved) ++epoch_;
    if (status.exit_class() == ExitClass::kResource) {
      return too_little(*parts_.device, "staging the tensors of a run", staging->bytes(), kRemedy);
    }
    TRTMC_RETURN_IF_ERROR(status);
  }
  for (auto& [name, tensor] : results_) tensor.data = outputs_.host(name);
  laid_out_sizes_ = sizes;
  laid_out_ = true;
  return Status::ok();
}

Status TensorRtSession::set_address(Lane& lane, const std::string& name, void* address) {
  void*& last = lane.addresses[name];
  if (last == address) return Status::ok();
  TRTMC_RETURN_IF_ERROR(lane.context->set_address(name, address));
  last = address;
  return Status::ok();
}

// Tells the context shapes and addresses, where they differ from what it knows.
Status TensorRtSession::point(Lane& lane) {
  for (std::size_t i = 0; i < contract().inputs.size(); ++i) {
    const TensorSpec& spec = contract().inputs[i];
    const Tensor& tensor = bindings_.input(i);
    if (is_dynamic(spec) && !(lane.shapes[i] == tensor.shape && lane.epoch != 0)) {
      TRTMC_RETURN_IF_ERROR(lane.context->set_shape(spec.name, tensor.shape));
      lane.shapes[i] = tensor.shape;
    }
    void* const address =
        inputs_.has(spec.name) ? static_cast<void*>(inputs_.device(spec.name)) : tensor.data;
    TRTMC_RETURN_IF_ERROR(set_address(lane, spec.name, address));
  }
  for (const TensorSpec& spec : contract().outputs) {
    const auto state = state_of_.find(spec.name);
    // State is updated in place: the output is the input's memory.
    void* const address = state == state_of_.end()
                              ? static_cast<void*>(outputs_.device(spec.name))
                              : bindings_.input(bindings_.index_of(state->second)).data;
    TRTMC_RETURN_IF_ERROR(set_address(lane, spec.name, address));
  }
  for (const auto& [name, tensor] : results_) {
    TRTMC_ASSIGN_OR_RETURN(const Shape shape, lane.context->shape(name));
    if (shape == tensor.shape) continue;
    return internal_error("backend.bad_output", "the engine gives output \"" + name +
                                                    "\" the shape " + to_string(shape) +
                                                    ", the contract " + to_string(tensor.shape));
  }
  return Status::ok();
}

void TensorRtSession::stage_inputs() {
  for (std::size_t i = 0; i < contract().inputs.size(); ++i) {
    const Tensor& tensor = bindings_.input(i);
    if (tensor.memory != MemoryKind::kHost || tensor.bytes() == 0) continue;
    std::memcpy(inputs_.host(contract().inputs[i].name), tensor.data, tensor.bytes());
  }
}

Status TensorRtSession::record(Lane& lane) {
  Device& device = *parts_.device;
  const StreamHandle stream = stream_.handle();
  if (inputs_.bytes() > 0) {
    TRTMC_RETURN_IF_ERROR(
        device.copy_to_device(inputs_.device(), inputs_.host(), inputs_.bytes(), stream));
  }
  TRTMC_RETURN_IF_ERROR(lane.context->enqueue(stream));
  if (outputs_.bytes() == 0) return Status::ok();
  return device.copy_to_host(outputs_.host(), outputs_.device(), outputs_.bytes(), stream);
}

// Records the run once. What cannot be recorded is run call by call from then on.
Status TensorRtSession::capture(Lane& lane) {
  if (!parts_.device->begin_capture(stream_.handle()).is_ok()) {
    lane.capturable = false;
    return Status::ok();
  }
  const Status recorded = record(lane);
  const Result<GraphHandle> graph = parts_.device->end_capture(stream_.handle());
  if (graph.is_ok()) lane.graph = Graph(parts_.device, *graph);
  if (recorded.is_ok() && graph.is_ok()) return Status::ok();
  lane.graph = {};
  lane.capturable = false;
  return Status::ok();
}

Status TensorRtSession::run_lane(Lane& lane, bool repeated) {
  if (!repeated) lane.graph = {};
  if (repeated && lane.capturable && !lane.graph) TRTMC_RETURN_IF_ERROR(capture(lane));
  const Status status = lane.graph ? lane.graph.launch(stream_.handle()) : record(lane);
  const Status finished = stream_.synchronize();  // also when it failed: nothing stays in flight
  return status.is_ok() ? finished : status;
}

Status TensorRtSession::run() {
  ran_ = false;
  TRTMC_ASSIGN_OR_RETURN(const std::vector<std::int64_t> sizes, bindings_.sizes());
  if (!contract().profiles.empty()) {
    TRTMC_RETURN_IF_ERROR(bindings_.check_range(contract().profiles[profile_], sizes));
  }
  TRTMC_ASSIGN_OR_RETURN(Lane* const lane, this->lane());
  TRTMC_RETURN_IF_ERROR(lay_out(sizes));
  const bool repeated = lane->epoch == epoch_ && lane->sizes == sizes;
  if (!repeated) {
    const Status status = point(*lane);
    lane->epoch = status.is_ok() ? epoch_ : 0;
    lane->sizes = sizes;
    TRTMC_RETURN_IF_ERROR(status);
  }
  stage_inputs();
  const Status status = run_lane(*lane, repeated);
  if (!status.is_ok()) {
    lane->epoch = 0;
    lane->addresses.clear();
    return status;
  }
  ran_ = true;
  return Status::ok();
}

Result<Tensor> TensorRtSession::output(std::string_view name) {
  if (!ran_) return internal_error("backend.no_output", "no run has succeeded yet");
  if (const auto state = state_of_.find(name); state != state_of_.end()) {
    return bindings_.input(bindings_.index_of(state->second));
  }
  const auto it = results_.find(name);
  if (it != results_.end()) return it->second;
  return internal_error("backend.no_output",
                        "the engine has no output \"" + std::string(name) + "\"");
}

}  // namespace

std::uint64_t session_scratch_bytes(const Plan& plan) {
  std::uint64_t most = 0;
  for (int i = 0; i < plan.profiles(); ++i) most = std::max(most, plan.scratch_bytes(i));
  return most;
}

std::uint64_t session_staging_bytes(const Contract& contract) {
  std::uint64_t most = 0;
  for (const Profile& profile : contract.profiles) {
    DimSizes dims;
    for (const auto& [name, range] : profile.dims) dims[name] = range.opt;
    std::uint64_t sum = 0;
    const auto add = [&](const TensorSpec& spec, const std::string StatePair::* side) {
      const auto is_state = [&](const StatePair& pair) { return pair.*side == spec.name; };
      if (std::any_of(contract.state.begin(), contract.state.end(), is_state)) return;
      const Result<Shape> shape = resolve_shape(spec, dims);
      if (shape.is_ok()) sum += aligned(storage_bytes(spec.dtype, *shape));
    };
    for (const TensorSpec& spec : contract.inputs) add(spec, &StatePair::input);
    for (const TensorSpec& spec : contract.outputs) add(spec, &StatePair::output);
    most = std::max(most, sum);
  }
  return most;
}

Result<std::unique_ptr<Session>> make_session(const SessionParts& parts) {
  const std::uint64_t scratch_bytes = session_scratch_bytes(*parts.plan);
  const std::uint64_t needed = scratch_bytes + session_staging_bytes(*parts.contract);
  TRTMC_RETURN_IF_ERROR(check_fits(*parts.device, "a session", needed,
                                   "lower max_sequence or the batch that the engine is built for"));
  TRTMC_ASSIGN_OR_RETURN(Stream stream, Stream::create(parts.device));
  TRTMC_ASSIGN_OR_RETURN(DeviceBuffer scratch,
                         DeviceBuffer::create(parts.device, scratch_bytes, stream.handle()));
  return std::make_unique<TensorRtSession>(parts, std::move(stream), std::move(scratch));
}

}  // namespace trtmc::tensorrt
