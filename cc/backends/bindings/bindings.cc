#include "cc/backends/bindings/bindings.h"

#include <algorithm>

namespace trtmc {
namespace {

Status bad_binding(const TensorSpec& spec, const std::string& what) {
  return internal_error("backend.bad_binding", "input \"" + spec.name + "\": " + what);
}

}  // namespace

Bindings::Bindings(const Contract& contract, BindingMemory memory)
    : contract_(&contract), memory_(memory) {
  for (const TensorSpec& spec : contract.inputs) {
    index_.emplace(spec.name, slots_.size());
    Slot& slot = slots_.emplace_back();
    slot.state = std::any_of(contract.state.begin(), contract.state.end(),
                             [&](const StatePair& pair) { return pair.input == spec.name; });
    for (const Dim& dim : spec.shape) {
      const auto* name = std::get_if<std::string>(&dim);
      if (name == nullptr) {
        slot.dims.push_back(-1);
        continue;
      }
      const auto it = std::find(dim_names_.begin(), dim_names_.end(), *name);
      slot.dims.push_back(static_cast<int>(it - dim_names_.begin()));
      if (it == dim_names_.end()) dim_names_.push_back(*name);
    }
  }
}

std::size_t Bindings::index_of(std::string_view input) const {
  const auto it = index_.find(input);
  return it == index_.end() ? npos : it->second;
}

Status Bindings::check_memory(const TensorSpec& spec, const Slot& slot,
                              const Tensor& tensor) const {
  const bool on_host = tensor.memory == MemoryKind::kHost;
  if (memory_ == BindingMemory::kHost && !on_host)
    return bad_binding(spec, "is not in host memory");
  if (memory_ == BindingMemory::kDeviceState && slot.state && on_host) {
    return bad_binding(spec,
                       "is state and must be memory of the backend's allocator, not the host's");
  }
  return Status::ok();
}

Status Bindings::bind(std::string_view name, const Tensor& tensor) {
  const std::size_t index = index_of(name);
  if (index == npos) {
    return internal_error("backend.bad_binding",
                          "the engine has no input \"" + std::string(name) + "\"");
  }
  const TensorSpec& spec = contract_->inputs[index];
  TRTMC_RETURN_IF_ERROR(check_memory(spec, slots_[index], tensor));
  if (tensor.dtype != spec.dtype) {
    return bad_binding(spec, "is " + std::string(dtype_name(tensor.dtype)) + ", expected " +
                                 std::string(dtype_name(spec.dtype)));
  }
  if (tensor.shape.rank() != spec.shape.size()) {
    return bad_binding(spec, "has shape " + to_string(tensor.shape) + ", expected rank " +
                                 std::to_string(spec.shape.size()));
  }
  for (std::size_t i = 0; i < tensor.shape.rank(); ++i) {
    const auto* fixed = std::get_if<std::int64_t>(&spec.shape[i]);
    if (tensor.shape[i] < 0 || (fixed != nullptr && *fixed != tensor.shape[i])) {
      return bad_binding(spec, "has shape " + to_string(tensor.shape) + ", expected " +
                                   (fixed ? std::to_string(*fixed) : "0 or more") + " on axis " +
                                   std::to_string(i));
    }
  }
  if (tensor.data == nullptr && tensor.shape.elements() > 0) {
    return bad_binding(spec, "has no memory");
  }
  slots_[index].tensor = tensor;
  slots_[index].bound = true;
  return Status::ok();
}

Result<std::vector<std::int64_t>> Bindings::sizes() const {
  constexpr std::int64_t kUnknown = -1;
  std::vector<std::int64_t> sizes(dim_names_.size(), kUnknown);
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    const TensorSpec& spec = contract_->inputs[s];
    if (!slot.bound) {
      return internal_error("backend.unbound_input",
                            "nothing is bound to input \"" + spec.name + "\"");
    }
    for (std::size_t axis = 0; axis < slot.dims.size(); ++axis) {
      if (slot.dims[axis] < 0) continue;
      const auto dim = static_cast<std::size_t>(slot.dims[axis]);
      const std::int64_t size = slot.tensor.shape[axis];
      if (sizes[dim] == kUnknown) sizes[dim] = size;
      if (sizes[dim] == size) continue;
      return bad_binding(spec, "dimension \"" + dim_names_[dim] + "\" is " + std::to_string(size) +
                                   ", but " + std::to_string(sizes[dim]) +
                                   " in an input before it");
    }
  }
  return sizes;
}

DimSizes Bindings::by_name(const std::vector<std::int64_t>& sizes) const {
  DimSizes named;
  for (std::size_t i = 0; i < sizes.size(); ++i) named[dim_names_[i]] = sizes[i];
  return named;
}

Status Bindings::check_range(const Profile& profile, const std::vector<std::int64_t>& sizes) const {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto it = profile.dims.find(dim_names_[i]);
    if (it == profile.dims.end()) continue;
    const DimRange& range = it->second;
    if (sizes[i] >= range.min && sizes[i] <= range.max) continue;
    return internal_error("backend.outside_profile",
                          "dimension \"" + dim_names_[i] + "\" is " + std::to_string(sizes[i]) +
                              "; profile \"" + profile.name + "\" allows " +
                              std::to_string(range.min) + " to " + std::to_string(range.max));
  }
  return Status::ok();
}

std::size_t Bindings::state_input(std::string_view output) const {
  for (const StatePair& pair : contract_->state) {
    if (pair.output == output) return index_of(pair.input);
  }
  return npos;
}

Status Bindings::check_profile(std::string_view name) const {
  if (contract_->find_profile(name) != nullptr) return Status::ok();
  return internal_error("backend.unknown_profile",
                        "the engine has no profile \"" + std::string(name) + "\"");
}

}  // namespace trtmc
