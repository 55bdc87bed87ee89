// Session over a Program: plans when shapes change, then runs step by step.

#include <cstdlib>
#include <new>

#include "cc/backends/bindings/bindings.h"
#include "cc/backends/openvino/ops/elementwise_ops.h"
#include "cc/backends/openvino/plan.h"
#include "cc/backends/openvino/session.h"

namespace trtmc::openvino {
namespace {

struct Free {
  void operator()(void* p) const { std::free(p); }
};

class ProgramSession final : public Session {
 public:
  ProgramSession(const Program& program, cpu::Pool& pool, const Contract& contract)
      : program_(program), bindings_(contract), workspace_(pool) {
    for (const Program::Port& port : program.inputs()) {
      places_.push_back(bindings_.index_of(port.name));
    }
  }

  Status bind(std::string_view name, const Tensor& tensor) override {
    return bindings_.bind(name, tensor);
  }

  Status set_profile(std::string_view name) override { return bindings_.check_profile(name); }

  Status run() override {
    ran_ = false;
    try {
      TRTMC_RETURN_IF_ERROR(prepare());
      for (const Program::Step& step : program_.steps()) TRTMC_RETURN_IF_ERROR(run_step(step));
    } catch (const std::bad_alloc&) {
      return resource_error("backend.out_of_memory",
                            "no memory for intermediate results; use a shorter prompt or chunk");
    } catch (const std::exception& e) {
      return internal_error("backend.failed", e.what());
    }
    ran_ = true;
    return Status::ok();
  }

  Result<Tensor> output(std::string_view name) override {
    if (!ran_) return internal_error("backend.no_output", "no run has succeeded yet");
    if (const std::size_t state = bindings_.state_input(name); state != Bindings::npos) {
      return bindings_.input(state);
    }
    for (const Program::Port& port : program_.outputs()) {
      if (port.name == name) return plan_.values[static_cast<std::size_t>(port.value)];
    }
    return internal_error("backend.no_output",
                          "the engine has no output \"" + std::string(name) + "\"");
  }

 private:
  Tensor& value(int number) { return plan_.values[static_cast<std::size_t>(number)]; }

  Status prepare() {
    TRTMC_ASSIGN_OR_RETURN(std::vector<std::int64_t> sizes, bindings_.sizes());
    if (!planned_ || sizes != sizes_) {
      planned_ = false;
      std::vector<Shape> shapes;
      for (const std::size_t place : places_) shapes.push_back(bindings_.input(place).shape);
      TRTMC_ASSIGN_OR_RETURN(plan_, Plan::make(program_, shapes));
      reserve(plan_.arena_bytes);
      for (const Program::Step& step : program_.steps()) {
        for (const Program::Part& part : step.parts) {
          const auto n = static_cast<std::size_t>(part.output);
          plan_.values[n].data = arena_.get() + plan_.offsets[n];
        }
      }
      sizes_ = std::move(sizes);
      planned_ = true;
    }
    for (std::size_t i = 0; i < places_.size(); ++i) {
      value(program_.inputs()[i].value).data = bindings_.input(places_[i]).data;
    }
    return Status::ok();
  }

  void reserve(std::size_t bytes) {
    if (bytes <= arena_bytes_) return;
    arena_bytes_ = 0;
    const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
    arena_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, rounded)));
    if (!arena_) throw std::bad_alloc();
    arena_bytes_ = rounded;
  }

  Status run_step(const Program::Step& step) {
    if (step.parts.size() > 1) return run_linears(step);
    const Program::Part& part = step.parts.front();
    tensors_.clear();
    for (const int input : part.inputs) tensors_.push_back(value(input));
    const Status status = part.op->compute(workspace_, tensors_, value(part.output));
    return status.is_ok() ? status : status.with_context(ovops::node_context(*part.op));
  }

  Status run_linears(const Program::Step& step) {
    jobs_.clear();
    const Program::Part& first = step.parts.front();
    const auto& op = static_cast<const ovops::Linear&>(*first.op);
    const std::size_t linears = step.parts.size() - (step.gated ? 1 : 0);
    for (const Program::Part& part : std::span(step.parts).first(linears)) {
      const auto& linear = static_cast<const ovops::Linear&>(*part.op);
      tensors_.clear();
      for (const int input : part.inputs) tensors_.push_back(value(input));
      const Status status = linear.check(tensors_);
      if (!status.is_ok()) return status.with_context(ovops::node_context(linear));
      jobs_.push_back(linear.job(tensors_, value(part.output)));
    }
    const Tensor& t = value(first.inputs[0]);
    const auto* x = static_cast<const float*>(t.data);
    const auto rows = static_cast<int>(t.shape.elements() / op.k());
    if (!step.gated) {
      cpu::linear(workspace_, jobs_, x, rows, op.k(), op.compute_type());
      return Status::ok();
    }
    const auto& gated = static_cast<const ovops::GatedActivation&>(*step.parts.back().op);
    auto* y = static_cast<float*>(value(step.parts.back().output).data);
    cpu::gated_linear(workspace_, jobs_[0], jobs_[1], gated.kind(), y, x, rows, op.k(),
                      op.compute_type());
    return Status::ok();
  }

  const Program& program_;
  Bindings bindings_;
  cpu::Workspace workspace_;
  std::vector<std::size_t> places_;  // of the program's inputs among the contract's
  std::vector<std::int64_t> sizes_;  // that plan_ was made for
  Plan plan_;
  bool planned_ = false, ran_ = false;
  std::unique_ptr<std::byte, Free> arena_;
  std::size_t arena_bytes_ = 0;
  std::vector<Tensor> tensors_;  // scratch of one step
  std::vector<cpu::LinearJob> jobs_;
};

}  // namespace

std::unique_ptr<Session> make_program_session(const Program& program, cpu::Pool& pool,
                                              const Contract& contract) {
  return std::make_unique<ProgramSession>(program, pool, contract);
}

}  // namespace trtmc::openvino
