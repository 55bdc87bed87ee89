#include "cc/backends/openvino/program.h"

#include <algorithm>
#include <map>
#include <openvino/op/constant.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>

#include "cc/backends/openvino/ops/elementwise_ops.h"

namespace trtmc::openvino {
namespace {

using ValueKey = std::pair<const ov::Node*, std::size_t>;

std::optional<Tensor> constant_tensor(const ov::op::v0::Constant& c) {
  const auto dtype = ovops::to_dtype(c.get_element_type());
  if (!dtype || c.get_shape().size() > kMaxRank) return std::nullopt;
  Shape shape;
  for (const std::size_t d : c.get_shape()) shape.push_back(static_cast<std::int64_t>(d));
  // Never written: no operator writes to an input that is not a cache, and a cache that is a
  // constant is refused by build().
  return Tensor{const_cast<void*>(c.get_data_ptr()), *dtype, MemoryKind::kHost, 0, shape};
}

const ovops::Linear* as_linear(const Program::Step& step) {
  return ov::as_type<const ovops::Linear>(step.parts.front().op);
}

}  // namespace

Result<Program::Port> describe_port(const ov::Output<const ov::Node>& port, int value) {
  const auto dtype = ovops::to_dtype(port.get_element_type());
  const ov::PartialShape shape = port.get_partial_shape();
  const auto& names = port.get_names();
  if (names.size() != 1 || !dtype || shape.rank().is_dynamic() || shape.size() > kMaxRank) {
    return bad_input("backend.bad_model", "'" + port.get_node()->get_friendly_name() +
                                              "' lacks one name, a known type or a rank up to 8");
  }
  Program::Port out{*names.begin(), value, *dtype, {}};
  for (const ov::Dimension& d : shape) {
    out.shape.push_back(d.is_static() ? d.get_length() : ovops::kDynamic);
  }
  return out;
}

std::optional<Program> Program::build(std::shared_ptr<ov::Model> model) {
  Program p;
  std::map<ValueKey, int> numbers;
  auto number = [&](const ov::Node* node, std::size_t port) {
    return numbers.try_emplace({node, port}, static_cast<int>(numbers.size())).first->second;
  };
  for (const std::shared_ptr<ov::Node>& node : model->get_ordered_ops()) {
    const ov::Node* n = node.get();
    if (ov::is_type<ov::op::v0::Parameter>(n)) {
      auto port = describe_port(node->output(0), number(n, 0));
      if (!port.is_ok()) return std::nullopt;
      p.inputs_.push_back(*std::move(port));
    } else if (const auto* constant = ov::as_type<const ov::op::v0::Constant>(n)) {
      const auto tensor = constant_tensor(*constant);
      if (!tensor) return std::nullopt;
      p.constants_.emplace_back(number(n, 0), *tensor);
    } else if (ov::is_type<ov::op::v0::Result>(n)) {
      const auto source = node->input_value(0);
      auto port = describe_port({source.get_node(), source.get_index()},
                                number(source.get_node(), source.get_index()));
      if (!port.is_ok()) return std::nullopt;
      p.outputs_.push_back(*std::move(port));
    } else if (const auto* op = dynamic_cast<const ovops::TrtmcOp*>(n)) {
      Part part{op, {}, 0};
      for (const auto& input : node->input_values()) {
        part.inputs.push_back(number(input.get_node(), input.get_index()));
      }
      part.output = number(n, 0);
      p.steps_.push_back({{std::move(part)}, false});
    } else {
      return std::nullopt;
    }
  }
  p.values_ = numbers.size();
  p.model_ = std::move(model);
  p.join_linears();
  p.join_gated();
  return p;
}

// Moves a Linear up to an earlier one with the same x. Always legal without a residual: weights
// and biases are constants or inputs, and x is there already.
void Program::join_linears() {
  std::vector<bool> computed(values_, false);  // values that some step makes
  for (const Step& step : steps_) computed[static_cast<std::size_t>(step.parts[0].output)] = true;
  auto may_move = [&](const Part& part) {
    return std::none_of(part.inputs.begin() + 1, part.inputs.end(),
                        [&](int v) { return computed[static_cast<std::size_t>(v)]; });
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const ovops::Linear* first = as_linear(steps_[i]);
    if (first == nullptr) continue;
    for (std::size_t j = i + 1; j < steps_.size();) {
      const ovops::Linear* other = as_linear(steps_[j]);
      if (other != nullptr && other->compute_type() == first->compute_type() &&
          steps_[j].parts.size() == 1 &&
          steps_[j].parts[0].inputs[0] == steps_[i].parts[0].inputs[0] &&
          may_move(steps_[j].parts[0])) {
        steps_[i].parts.push_back(std::move(steps_[j].parts[0]));
        steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(j));
      } else {
        ++j;
      }
    }
  }
}

// Takes a GatedActivation into the step of the two Linears it reads, if nobody else reads them.
void Program::join_gated() {
  std::vector<int> readers(values_, 0);
  for (const Step& step : steps_) {
    for (const Part& part : step.parts) {
      for (const int input : part.inputs) ++readers[static_cast<std::size_t>(input)];
    }
  }
  for (const Port& port : outputs_) ++readers[static_cast<std::size_t>(port.value)];
  auto only_here = [&](int v) { return readers[static_cast<std::size_t>(v)] == 1; };
  for (Step& step : steps_) {
    if (step.parts.size() != 2 || as_linear(step) == nullptr) continue;
    const int a = step.parts[0].output, b = step.parts[1].output;
    const bool residual = static_cast<const ovops::Linear*>(step.parts[0].op)->has_residual() ||
                          static_cast<const ovops::Linear*>(step.parts[1].op)->has_residual();
    if (residual || !only_here(a) || !only_here(b)) continue;
    const auto user = std::find_if(steps_.begin(), steps_.end(), [&](const Step& other) {
      if (other.parts.empty()) return false;
      const Part& part = other.parts.front();
      return ov::is_type<ovops::GatedActivation>(part.op) &&
             (part.inputs == std::vector<int>{a, b} || part.inputs == std::vector<int>{b, a});
    });
    if (user == steps_.end()) continue;
    if (user->parts[0].inputs[0] != a) std::swap(step.parts[0], step.parts[1]);
    step.parts.push_back(std::move(user->parts[0]));
    step.gated = true;
    user->parts.clear();  // an empty step, removed below
  }
  std::erase_if(steps_, [](const Step& step) { return step.parts.empty(); });
}

}  // namespace trtmc::openvino
