// The native half of the Python module trtmc.runtime: a thin binding of trtmc::load and
// TextGeneration. python/trtmc/runtime gives it types, defaults and iterators.
//
// Every call that computes releases the GIL. A failed Status becomes trtmc_runtime.StatusError
// with arguments (code, exit_code, message).

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cc/sampling/sampler.h"
#include "trtmc/load.h"

namespace py = pybind11;

namespace trtmc::python {
namespace {

using Ids = std::vector<std::int32_t>;

class StatusError : public std::exception {
 public:
  explicit StatusError(Status status) : status_(std::move(status)), text_(status_.message()) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Status status_;
  std::string text_;
};

template <class T>
T value_or_raise(Result<T> result) {
  if (!result.is_ok()) throw StatusError(result.status());
  return std::move(result).value();
}

struct CancelFlag {
  std::atomic<bool> set{false};
};

// One pipeline; a call while another one runs is refused instead of waiting for it.
class Pipeline {
 public:
  Pipeline(const std::string& path, const LoadOptions& options)
      : loaded_(value_or_raise(load_task<TextGeneration>(path, warned(options)))) {}

  const IPipeline& info() const { return *loaded_.pipeline; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  TextGeneration& llm() { return *loaded_.task; }
  const TextCodec& text() {
    const TextCodec* codec = llm().text();
    if (codec == nullptr) {
      throw StatusError(unsupported("generate.no_tokenizer", "the bundle has no tokenizer"));
    }
    return *codec;
  }

  class Use {
   public:
    explicit Use(Pipeline& p) : lock_(p.busy_, std::try_to_lock) {
      if (!lock_.owns_lock()) {
        throw StatusError(usage_error("runtime.busy", "the pipeline is generating; one call at a "
                                      "time, so finish or close the other one first"));
      }
    }

   private:
    std::unique_lock<std::mutex> lock_;
  };

 private:
  LoadOptions warned(LoadOptions options) {
    options.on_warning = [this](const LoadWarning& w) { warnings_.push_back(w.message); };
    return options;
  }

  std::vector<std::string> warnings_;  // before what fills it
  LoadedTask<TextGeneration> loaded_;
  std::mutex busy_;
};

// Calls a Python function for each event. Its exception ends generation and is raised after it.
class PythonSink {
 public:
  explicit PythonSink(py::object function) : function_(std::move(function)) {}

  bool operator()(const TokenEvent& event) {
    py::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (function_.is_none()) return true;
      const py::object logprobs =
          event.logprobs == nullptr ? py::none() : py::cast(*event.logprobs);
      const py::object go_on = function_(event.id, py::str(event.text.data(), event.text.size()),
                                         logprobs);
      return go_on.is_none() || go_on.cast<bool>();
    } catch (py::error_already_set& e) {
      error_ = std::make_unique<py::error_already_set>(std::move(e));
      return false;
    }
  }

  void raise_if_failed() {
    if (error_ != nullptr) throw py::error_already_set(std::move(*error_));
  }

 private:
  py::object function_;
  std::unique_ptr<py::error_already_set> error_;
};

GenerationResult generate(Pipeline& self, const Ids& ids, const GenerationOptions& options,
                          py::object on_token, CancelFlag& cancel) {
  Pipeline::Use use(self);
  PythonSink sink(std::move(on_token));
  GenerationHooks hooks;
  hooks.cancel = &cancel.set;
  hooks.on_token = [&](const TokenEvent& event) { return sink(event); };
  Result<GenerationResult> result = [&] {
    py::gil_scoped_release free;
    return self.llm().generate(ids, options, hooks);
  }();
  sink.raise_if_failed();
  return value_or_raise(std::move(result));
}

py::array_t<float> logits(Pipeline& self, const Ids& ids, std::int64_t chunk) {
  Pipeline::Use use(self);
  const LogitsView view = [&] {
    py::gil_scoped_release free;
    return value_or_raise(self.llm().logits(ids, chunk));
  }();
  py::array_t<float> array({view.rows, view.vocab});
  std::memcpy(array.mutable_data(), view.data,
              static_cast<std::size_t>(view.rows * view.vocab) * sizeof(float));
  return array;
}

std::unique_ptr<Pipeline> open(const std::string& path, const std::string& runtime_root,
                               const std::string& verify, int threads, const std::string& compute,
                               std::int64_t max_sequence, std::optional<int> device,
                               const std::string& target) {
  LoadOptions options;
  options.runtime_root = runtime_root;
  options.verify = verify == "full" ? Verify::kFull : Verify::kLazy;
  options.threads = threads;
  options.compute = compute;
  options.max_sequence = max_sequence;
  options.device = device;
  options.target = target;
  py::gil_scoped_release free;
  return std::make_unique<Pipeline>(path, options);
}

void bind_data(py::module_& m) {
  py::class_<SamplingOptions>(m, "SamplingOptions")
      .def(py::init<>())
      .def_readwrite("temperature", &SamplingOptions::temperature)
      .def_readwrite("top_k", &SamplingOptions::top_k)
      .def_readwrite("top_p", &SamplingOptions::top_p)
      .def_readwrite("min_p", &SamplingOptions::min_p)
      .def_readwrite("repetition_penalty", &SamplingOptions::repetition_penalty)
      .def_readwrite("frequency_penalty", &SamplingOptions::frequency_penalty)
      .def_readwrite("presence_penalty", &SamplingOptions::presence_penalty)
      .def_readwrite("seed", &SamplingOptions::seed);
  py::class_<GenerationOptions>(m, "GenerationOptions")
      .def(py::init<>())
      .def_readwrite("sampling", &GenerationOptions::sampling)
      .def_readwrite("max_new_tokens", &GenerationOptions::max_new_tokens)
      .def_readwrite("stop", &GenerationOptions::stop)
      .def_readwrite("ignore_eos", &GenerationOptions::ignore_eos)
      .def_readwrite("logprobs", &GenerationOptions::logprobs)
      .def_readwrite("skip_special", &GenerationOptions::skip_special);
  py::class_<TokenLogprob>(m, "TokenLogprob")
      .def_readonly("id", &TokenLogprob::id)
      .def_readonly("logprob", &TokenLogprob::logprob);
  py::class_<StepLogprobs>(m, "StepLogprobs")
      .def_readonly("chosen", &StepLogprobs::chosen)
      .def_readonly("top", &StepLogprobs::top);
  py::class_<GenerationTiming>(m, "Timing")
      .def_readonly("prefill", &GenerationTiming::prefill)
      .def_readonly("first_token", &GenerationTiming::first_token)
      .def_readonly("decode", &GenerationTiming::decode);
  py::class_<GenerationResult>(m, "Result")
      .def_readonly("ids", &GenerationResult::ids)
      .def_readonly("text", &GenerationResult::text)
      .def_property_readonly(
          "finish_reason",
          [](const GenerationResult& r) { return std::string(finish_reason_name(r.reason)); })
      .def_readonly("stop_text", &GenerationResult::stop_text)
      .def_readonly("logprobs", &GenerationResult::logprobs)
      .def_readonly("prompt_tokens", &GenerationResult::prompt_tokens)
      .def_readonly("reused_tokens", &GenerationResult::reused_tokens)
      .def_readonly("timing", &GenerationResult::timing);
  py::class_<CancelFlag>(m, "CancelFlag")
      .def(py::init<>())
      .def("set", [](CancelFlag& f) { f.set = true; })
      .def("is_set", [](const CancelFlag& f) { return f.set.load(); });
}

void bind_pipeline(py::module_& m) {
  const auto free = py::call_guard<py::gil_scoped_release>();
  py::class_<Pipeline>(m, "Pipeline")
      .def_property_readonly("bundle_id",
                             [](Pipeline& p) { return std::string(p.info().bundle_id()); })
      .def_property_readonly("family", [](Pipeline& p) { return p.info().header().family; })
      .def_property_readonly("warnings", [](Pipeline& p) { return p.warnings(); })
      .def_property_readonly("target", [](Pipeline& p) { return p.info().target().name; })
      .def_property_readonly("vocab_size", [](Pipeline& p) { return p.llm().info().vocab_size; })
      .def_property_readonly("max_sequence",
                             [](Pipeline& p) { return p.llm().info().max_sequence; })
      .def_property_readonly("eos_token_ids",
                             [](Pipeline& p) { return p.llm().info().eos_token_ids; })
      .def_property_readonly("default_sampling",
                             [](Pipeline& p) { return p.llm().default_sampling(); })
      .def("generate", &generate, py::arg("ids"), py::arg("options"), py::arg("on_token"),
           py::arg("cancel"))
      .def("logits", &logits, py::arg("ids"), py::arg("chunk"))
      .def("reset",
           [](Pipeline& p) {
             Pipeline::Use use(p);
             p.llm().reset();
           })
      .def("encode",
           [](Pipeline& p, const std::string& text, bool add_special, bool parse_special) {
             return value_or_raise(p.text().encode(text, {add_special, parse_special}));
           }, free)
      .def("decode",
           [](Pipeline& p, const Ids& ids, bool skip_special) {
             return value_or_raise(p.text().decode(ids, skip_special));
           }, free)
      .def("encode_chat",
           [](Pipeline& p, const std::string& messages, bool prompt, const std::string& tools) {
             return value_or_raise(p.text().encode_chat(messages, {prompt, tools}));
           }, free)
      .def("render_chat",
           [](Pipeline& p, const std::string& messages, bool prompt, const std::string& tools) {
             return value_or_raise(p.text().render_chat(messages, {prompt, tools}));
           }, free);
}

}  // namespace

PYBIND11_MODULE(trtmc_runtime, m) {
  m.doc() = "Native half of trtmc.runtime";
  static py::exception<StatusError> error(m, "StatusError");
  py::register_exception_translator([](std::exception_ptr pending) {
    try {
      if (pending) std::rethrow_exception(pending);
    } catch (const StatusError& e) {
      const Status& s = e.status();
      const py::tuple args = py::make_tuple(std::string(s.code()), s.exit_code(),
                                            std::string(s.message()));
      PyErr_SetObject(error.ptr(), args.ptr());
    }
  });
  std::vector<std::string> order(kSamplingOrder.begin(), kSamplingOrder.end());
  m.attr("SAMPLING_ORDER") = py::tuple(py::cast(order));
  bind_data(m);
  bind_pipeline(m);
  m.def("open", &open, py::arg("path"), py::arg("runtime_root"), py::arg("verify"),
        py::arg("threads"), py::arg("compute"), py::arg("max_sequence"), py::arg("device"),
        py::arg("target"));
}

}  // namespace trtmc::python
