#include "cc/backends/tensorrt/check_plan.h"

#include <algorithm>

namespace trtmc::tensorrt {
namespace {

Status mismatch(const std::string& what) {
  return bad_input("backend.contract_mismatch",
                   "the engine is not what the bundle says: " + what + "; build the bundle again");
}

std::string text_of(const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& dim : dims) {
    const auto* fixed = std::get_if<std::int64_t>(&dim);
    text +=
        (text.empty() ? "" : ", ") + (fixed ? std::to_string(*fixed) : std::get<std::string>(dim));
  }
  return "[" + text + "]";
}

const PlanTensor* find(const Plan& plan, const std::string& name, bool input) {
  for (const PlanTensor& tensor : plan.tensors()) {
    if (tensor.name == name && tensor.input == input) return &tensor;
  }
  return nullptr;
}

// The one size that all profiles leave a named dimension, or -1: a plan may state it as fixed.
std::int64_t only_size(const Contract& contract, const std::string& dim) {
  std::int64_t size = -1;
  for (const Profile& profile : contract.profiles) {
    const auto it = profile.dims.find(dim);
    if (it == profile.dims.end() || it->second.min != it->second.max) return -1;
    if (size != -1 && size != it->second.min) return -1;
    size = it->second.min;
  }
  return size;
}

bool fits(std::int64_t size, const Dim& dim, const Contract& contract) {
  if (const auto* fixed = std::get_if<std::int64_t>(&dim)) return size == *fixed;
  return size == -1 || size == only_size(contract, std::get<std::string>(dim));
}

Status check_tensor(const Plan& plan, const Contract& contract, const TensorSpec& spec,
                    bool input) {
  const std::string kind = input ? "input \"" : "output \"";
  const PlanTensor* tensor = find(plan, spec.name, input);
  if (tensor == nullptr) return mismatch("it has no " + kind + spec.name + "\"");
  if (!tensor->on_device) {
    return mismatch(kind + spec.name + "\" is a shape tensor, which lies on the host");
  }
  bool same = tensor->dtype == spec.dtype && tensor->shape.rank() == spec.shape.size();
  for (std::size_t i = 0; same && i < spec.shape.size(); ++i) {
    same = fits(tensor->shape[i], spec.shape[i], contract);
  }
  if (same) return Status::ok();
  return mismatch(kind + spec.name + "\" is " + std::string(dtype_name(tensor->dtype)) + " " +
                  to_string(tensor->shape) + " in the engine, " +
                  std::string(dtype_name(spec.dtype)) + " " + text_of(spec.shape) +
                  " in the contract");
}

Status check_weight(const PlanTensor& tensor, const TensorMap& weights) {
  const auto it = weights.find(tensor.name);
  if (it == weights.end()) {
    return bad_input("backend.missing_weight",
                     "the engine's input \"" + tensor.name +
                         "\" is neither in the contract nor among the bundle's weights; build the "
                         "bundle again");
  }
  const Tensor& weight = it->second;
  if (weight.dtype == tensor.dtype && weight.shape == tensor.shape) return Status::ok();
  return mismatch("weight \"" + tensor.name + "\" is " + std::string(dtype_name(tensor.dtype)) +
                  " " + to_string(tensor.shape) + " in the engine, " +
                  std::string(dtype_name(weight.dtype)) + " " + to_string(weight.shape) +
                  " in the bundle");
}

// What the contract promises about a profile must lie within what the plan can do.
Status check_profile(const Plan& plan, const Contract& contract, int index) {
  const Profile& profile = contract.profiles[static_cast<std::size_t>(index)];
  for (const TensorSpec& spec : contract.inputs) {
    TRTMC_ASSIGN_OR_RETURN(const ShapeRange range, plan.profile_range(spec.name, index));
    for (std::size_t i = 0; i < spec.shape.size(); ++i) {
      const auto* name = std::get_if<std::string>(&spec.shape[i]);
      if (name == nullptr) continue;
      const auto it = profile.dims.find(*name);
      if (it == profile.dims.end()) continue;
      const DimRange& want = it->second;
      if (i < range.min.rank() && range.min[i] <= want.min && range.max[i] >= want.max) continue;
      return mismatch("profile \"" + profile.name + "\" promises " + std::to_string(want.min) +
                      " to " + std::to_string(want.max) + " for \"" + *name + "\", but input \"" +
                      spec.name + "\" goes from " + to_string(range.min) + " to " +
                      to_string(range.max));
    }
  }
  return Status::ok();
}

}  // namespace

Status check_plan(const Plan& plan, const Contract& contract, const TensorMap& weights) {
  for (const TensorSpec& spec : contract.inputs) {
    TRTMC_RETURN_IF_ERROR(check_tensor(plan, contract, spec, true));
  }
  for (const TensorSpec& spec : contract.outputs) {
    TRTMC_RETURN_IF_ERROR(check_tensor(plan, contract, spec, false));
  }
  for (const PlanTensor& tensor : plan.tensors()) {
    if (tensor.input && contract.find_input(tensor.name) == nullptr) {
      TRTMC_RETURN_IF_ERROR(check_weight(tensor, weights));
    }
    if (!tensor.input && contract.find_output(tensor.name) == nullptr) {
      return mismatch("it has an output \"" + tensor.name + "\", which the contract lacks");
    }
  }
  for (const auto& [name, tensor] : weights) {
    if (find(plan, name, true) == nullptr) return mismatch("it has no weight \"" + name + "\"");
  }
  const int profiles = static_cast<int>(contract.profiles.size());
  if (plan.profiles() != std::max(1, profiles)) {
    return mismatch("it has " + std::to_string(plan.profiles()) + " profiles, the contract " +
                    std::to_string(profiles));
  }
  for (int i = 0; i < profiles; ++i) TRTMC_RETURN_IF_ERROR(check_profile(plan, contract, i));
  return Status::ok();
}

}  // namespace trtmc::tensorrt
