#include "cc/backends/openvino/check_model.h"

#include <algorithm>
#include <openvino/op/parameter.hpp>
#include <set>

#include "cc/backends/openvino/ops/attention_op.h"
#include "cc/backends/openvino/program.h"

namespace trtmc::openvino {
namespace {

Status mismatch(const std::string& what) {
  return bad_input("backend.contract_mismatch", what + "; build the bundle again");
}

Status check_port(const Program::Port& port, const TensorSpec* spec, const char* kind) {
  const std::string name = std::string(kind) + " \"" + port.name + "\"";
  if (spec == nullptr) return mismatch("the engine's " + name + " is not in the contract");
  if (port.dtype != spec->dtype) {
    return mismatch(name + " is " + std::string(dtype_name(port.dtype)) + " in the engine and " +
                    std::string(dtype_name(spec->dtype)) + " in the contract");
  }
  bool same = port.shape.rank() == spec->shape.size();
  for (std::size_t i = 0; same && i < port.shape.rank(); ++i) {
    const auto* fixed = std::get_if<std::int64_t>(&spec->shape[i]);
    same = port.shape[i] == ovops::kDynamic || (fixed != nullptr && *fixed == port.shape[i]);
  }
  if (!same) return mismatch(name + " has another shape in the contract than in the engine");
  return Status::ok();
}

// Attention writes to its caches: they must be memory that the caller gave for that.
Status check_caches(const ov::Model& model, const Contract& contract) {
  for (const auto& node : model.get_ops()) {
    if (!ov::is_type<ovops::Attention>(node)) continue;
    for (const std::size_t i : {ovops::Attention::kKCache, ovops::Attention::kVCache}) {
      const auto source = node->input_value(i);
      const auto& names = source.get_names();
      const bool is_state =
          ov::is_type<ov::op::v0::Parameter>(source.get_node()) && names.size() == 1 &&
          std::any_of(contract.state.begin(), contract.state.end(),
                      [&](const StatePair& pair) { return pair.input == *names.begin(); });
      if (!is_state) {
        return mismatch("cache input " + std::to_string(i) + " of node '" +
                        node->get_friendly_name() + "' is not a state input of the contract");
      }
    }
  }
  return Status::ok();
}

}  // namespace

Status check_model(const ov::Model& model, const Contract& contract) {
  std::set<std::string> outputs, inputs;
  for (const auto& parameter : model.inputs()) {
    TRTMC_ASSIGN_OR_RETURN(const Program::Port port, describe_port(parameter, 0));
    TRTMC_RETURN_IF_ERROR(check_port(port, contract.find_input(port.name), "input"));
    inputs.insert(port.name);
  }
  for (const auto& result : model.outputs()) {
    TRTMC_ASSIGN_OR_RETURN(const Program::Port port, describe_port(result, 0));
    TRTMC_RETURN_IF_ERROR(check_port(port, contract.find_output(port.name), "output"));
    outputs.insert(port.name);
  }
  for (const TensorSpec& spec : contract.inputs) {
    if (!inputs.contains(spec.name))
      return mismatch("the engine lacks input \"" + spec.name + "\"");
  }
  for (const StatePair& pair : contract.state) {
    if (contract.find_input(pair.input) == nullptr) {
      return mismatch("state \"" + pair.input + "\" is not an input of the contract");
    }
    outputs.insert(pair.output);
  }
  for (const TensorSpec& spec : contract.outputs) {
    if (!outputs.contains(spec.name))
      return mismatch("the engine lacks output \"" + spec.name + "\"");
  }
  return check_caches(model, contract);
}

}  // namespace trtmc::openvino
