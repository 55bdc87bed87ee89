#include "cc/backends/openvino/weight_constants.h"

#include <openvino/op/constant.hpp>
#include <openvino/op/parameter.hpp>
#include <set>
#include <string>
#include <string_view>

#include "cc/backends/openvino/ops/op.h"

namespace trtmc::openvino {
namespace {

constexpr std::string_view kPrefix = "trtmc.weight.";

struct Wanted {
  std::string form;
  std::string name;
};

// "trtmc.weight.0.float16.512x256:lm_head.weight" → {"float16.512x256", "lm_head.weight"}
std::optional<Wanted> wanted(const ov::op::v0::Parameter& parameter) {
  const auto& names = parameter.output(0).get_names();
  if (names.size() != 1 || !names.begin()->starts_with(kPrefix)) return std::nullopt;
  const std::string_view text = *names.begin();
  const auto dot = text.find('.', kPrefix.size()), colon = text.find(':');
  if (dot == std::string_view::npos || colon == std::string_view::npos || colon < dot) {
    return std::nullopt;
  }
  return Wanted{std::string(text.substr(dot + 1, colon - dot - 1)),
                std::string(text.substr(colon + 1))};
}

std::string form_of(const Tensor& tensor) {
  std::string text(dtype_name(tensor.dtype));
  for (std::size_t i = 0; i < tensor.shape.rank(); ++i) {
    text += (i == 0 ? "." : "x") + std::to_string(tensor.shape[i]);
  }
  return text;
}

}  // namespace

Result<std::uint64_t> place_weights(ov::Model& model, const TensorMap& weights) {
  std::set<std::string> used;
  std::uint64_t bytes = 0;
  const ov::ParameterVector parameters = model.get_parameters();
  for (const auto& parameter : parameters) {
    const auto want = wanted(*parameter);
    if (!want) continue;
    const auto found = weights.find(want->name);
    if (found == weights.end()) {
      return bad_input("backend.missing_weight",
                       "the engine needs the external weight \"" + want->name +
                           "\", which was not given; build the bundle again");
    }
    const Tensor& tensor = found->second;
    const ov::element::Type type = parameter->get_element_type();
    const bool fixed = parameter->get_partial_shape().is_static();
    const bool fits = fixed && form_of(tensor) == want->form &&
                      (type == ov::element::u8 || ovops::to_dtype(type) == tensor.dtype) &&
                      ov::shape_size(parameter->get_shape()) * type.size() == tensor.bytes();
    if (!fits || tensor.memory != MemoryKind::kHost || tensor.data == nullptr) {
      return bad_input("backend.bad_engine",
                       "external weight \"" + want->name + "\" is " + form_of(tensor) +
                           ", the engine wants " + want->form + "; build the bundle again");
    }
    // The tensor does not own the memory, and the constant copies nothing.
    const auto constant = std::make_shared<ov::op::v0::Constant>(
        ov::Tensor(type, parameter->get_shape(), tensor.data));
    constant->set_friendly_name(want->name);
    parameter->output(0).replace(constant->output(0));
    model.remove_parameter(parameter);
    if (used.insert(want->name).second) bytes += tensor.bytes();
  }
  if (!used.empty()) model.validate_nodes_and_infer_types();
  return bytes;
}

}  // namespace trtmc::openvino
