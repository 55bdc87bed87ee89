#include "cc/backends/openvino/plan.h"

#include <limits>

#include "cc/backends/openvino/arena.h"

namespace trtmc::openvino {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

// Number of the last step that reads each value; outputs of the model outlive all.
std::vector<int> last_uses(const Program& program) {
  std::vector<int> last(program.values(), -1);
  int step = 0;
  for (const Program::Step& s : program.steps()) {
    for (const Program::Part& part : s.parts) {
      last[static_cast<std::size_t>(part.output)] = step;
      for (const int input : part.inputs) last[static_cast<std::size_t>(input)] = step;
    }
    ++step;
  }
  for (const Program::Port& port : program.outputs()) {
    last[static_cast<std::size_t>(port.value)] = std::numeric_limits<int>::max();
  }
  return last;
}

Status check_size(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t d : shape.dims()) {
    if (d < 0 || (d > 0 && elements > kMaxElements / d)) {
      return bad_input("backend.bad_model",
                       "an output of shape " + to_string(shape) + " is larger than any memory");
    }
    elements *= d;
  }
  return Status::ok();
}

}  // namespace

Result<Plan> Plan::make(const Program& program, const std::vector<Shape>& inputs) {
  Plan plan;
  plan.values.resize(program.values());
  plan.offsets.resize(program.values(), 0);
  for (const auto& [value, tensor] : program.constants()) {
    plan.values[static_cast<std::size_t>(value)] = tensor;
  }
  for (std::size_t i = 0; i < program.inputs().size(); ++i) {
    const Program::Port& port = program.inputs()[i];
    plan.values[static_cast<std::size_t>(port.value)] =
        Tensor{nullptr, port.dtype, MemoryKind::kHost, 0, inputs[i]};
  }
  const std::vector<int> last = last_uses(program);
  ArenaPlan arena;
  std::vector<ovops::InputSpec> specs;
  int step = 0;
  for (const Program::Step& s : program.steps()) {
    for (const Program::Part& part : s.parts) {
      specs.clear();
      for (const int input : part.inputs) {
        const Tensor& t = plan.values[static_cast<std::size_t>(input)];
        specs.push_back({t.dtype, t.shape});
      }
      Result<Shape> shape = part.op->infer(specs);
      if (!shape.is_ok()) return shape.status().with_context(ovops::node_context(*part.op));
      const Status size = check_size(*shape);
      if (!size.is_ok()) return size.with_context(ovops::node_context(*part.op));
      const auto value = static_cast<std::size_t>(part.output);
      plan.values[value] = Tensor{nullptr, DType::kFloat32, MemoryKind::kHost, 0, *shape};
      if (s.gated && &part != &s.parts.back()) continue;  // never written
      plan.offsets[value] = arena.place(plan.values[value].bytes(), step, last[value]);
    }
    ++step;
  }
  plan.arena_bytes = arena.size();
  return plan;
}

}  // namespace trtmc::openvino
