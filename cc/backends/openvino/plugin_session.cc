// Session over OpenVINO's CPU plugin, for models that are not a Program.

#include <openvino/runtime/infer_request.hpp>

#include "cc/backends/bindings/bindings.h"
#include "cc/backends/openvino/session.h"

namespace trtmc::openvino {
namespace {

ov::element::Type to_element(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return ov::element::f32;
    case DType::kFloat16: return ov::element::f16;
    case DType::kBFloat16: return ov::element::bf16;
    case DType::kInt64: return ov::element::i64;
    case DType::kInt32: return ov::element::i32;
    case DType::kInt8: return ov::element::i8;
    case DType::kUInt8: return ov::element::u8;
    case DType::kBool: return ov::element::boolean;
    default: return ov::element::dynamic;  // refused when the engine is loaded
  }
}

ov::Tensor to_openvino(const Tensor& t) {
  return {to_element(t.dtype), ov::Shape(t.shape.dims().begin(), t.shape.dims().end()), t.data};
}

class PluginSession final : public Session {
 public:
  PluginSession(ov::CompiledModel& model, const Contract& contract)
      : contract_(contract), bindings_(contract), request_(model.create_infer_request()) {
    for (const auto& output : model.outputs()) {
      for (const std::string& name : output.get_names()) model_outputs_.push_back(name);
    }
  }

  Status bind(std::string_view name, const Tensor& tensor) override {
    TRTMC_RETURN_IF_ERROR(bindings_.bind(name, tensor));
    changed_ = true;
    return Status::ok();
  }

  Status set_profile(std::string_view name) override { return bindings_.check_profile(name); }

  Status run() override {
    ran_ = false;
    try {
      TRTMC_RETURN_IF_ERROR(bindings_.sizes().status());
      if (changed_) pass_on();
      changed_ = false;
      request_.infer();
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
    try {
      const ov::Tensor t = request_.get_tensor(std::string(name));
      const auto dtype = ovops::to_dtype(t.get_element_type());
      if (!dtype) return internal_error("backend.no_output", "an output has an unknown type");
      Tensor out{const_cast<void*>(t.data()), *dtype, MemoryKind::kHost, 0, {}};
      for (const std::size_t d : t.get_shape()) out.shape.push_back(static_cast<std::int64_t>(d));
      return out;
    } catch (const std::exception& e) {
      return internal_error("backend.no_output", e.what());
    }
  }

 private:
  // Hands all bindings to OpenVINO. A state output that the model has becomes the input's memory.
  void pass_on() {
    for (std::size_t i = 0; i < contract_.inputs.size(); ++i) {
      request_.set_tensor(contract_.inputs[i].name, to_openvino(bindings_.input(i)));
    }
    for (const StatePair& pair : contract_.state) {
      for (const std::string& name : model_outputs_) {
        if (name != pair.output) continue;
        request_.set_tensor(name, to_openvino(bindings_.input(bindings_.index_of(pair.input))));
      }
    }
  }

  const Contract& contract_;
  Bindings bindings_;
  ov::InferRequest request_;
  std::vector<std::string> model_outputs_;
  bool changed_ = true, ran_ = false;
};

}  // namespace

std::unique_ptr<Session> make_plugin_session(ov::CompiledModel& model, const Contract& contract) {
  return std::make_unique<PluginSession>(model, contract);
}

}  // namespace trtmc::openvino
