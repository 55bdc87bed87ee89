// The DSO's one symbol, and the backend and engine behind it.

#include "trtmc/backend.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <openvino/openvino.hpp>
#include <optional>

#include "cc/backends/openvino/check_model.h"
#include "cc/backends/openvino/engine_file.h"
#include "cc/backends/openvino/ops/register.h"
#include "cc/backends/openvino/plan.h"
#include "cc/backends/openvino/session.h"
#include "cc/backends/openvino/weight_constants.h"

namespace trtmc::openvino {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 44;
// Decoding is bound by memory, which a few cores saturate; more only wait for each other.
constexpr int kMaxAutoThreads = 16;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Anonymous maps: zero-filled by the system, page-aligned, huge pages where they help.
class HostAllocator final : public DeviceAllocator {
 public:
  Result<DeviceTensor> allocate(DType dtype, const Shape& shape) override {
    Tensor view{nullptr, dtype, MemoryKind::kHost, 0, shape};
    std::int64_t elements = 1;
    for (const std::int64_t d : shape.dims()) {
      if (d < 0 || (d > 0 && elements > kMaxElements / d)) return refuse(shape);
      elements *= d;
    }
    const std::size_t bytes = view.bytes();
    const std::size_t mapped = std::max<std::size_t>(4096, (bytes + 4095) / 4096 * 4096);
    void* p = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return refuse(shape);
    if (mapped >= 2 * kHugePage) madvise(p, mapped, MADV_HUGEPAGE);
    view.data = p;
    return DeviceTensor(view, [mapped](void* memory) { munmap(memory, mapped); });
  }

 private:
  static Status refuse(const Shape& shape) {
    return resource_error("backend.out_of_memory", "no memory for a tensor of shape " +
                                                       to_string(shape) +
                                                       "; lower the batch or the sequence length");
  }
};

class CpuEngine final : public Engine {
 public:
  // Exactly one of `program` and `compiled` is set.
  CpuEngine(EngineBlob blob, Contract contract, std::size_t weight_bytes, int threads)
      : blob_(std::move(blob)),
        contract_(std::move(contract)),
        weight_bytes_(weight_bytes),
        pool_(threads) {}

  void set_program(Program program) { program_ = std::move(program); }
  void set_compiled(ov::CompiledModel model) { compiled_ = std::move(model); }

  const Contract& contract() const override { return contract_; }

  MemoryReport memory() const override {
    MemoryReport report;
    report.weights = weight_bytes_;
    if (!program_) return report;
    for (const Profile& profile : contract_.profiles) {
      std::map<std::string, std::int64_t, std::less<>> most;
      for (const auto& [name, range] : profile.dims) most[name] = range.max;
      std::vector<Shape> shapes;
      for (const Program::Port& port : program_->inputs()) {
        const auto shape = resolve_shape(*contract_.find_input(port.name), most);
        if (!shape.is_ok()) return report;
        shapes.push_back(*shape);
      }
      const Result<Plan> plan = Plan::make(*program_, shapes);
      if (!plan.is_ok()) return report;
      report.per_session = std::max<std::uint64_t>(report.per_session, plan->arena_bytes);
    }
    return report;
  }

  Result<std::unique_ptr<Session>> create_session() override {
    try {
      if (program_) return make_program_session(*program_, pool_, contract_);
      return make_plugin_session(*compiled_, contract_);
    } catch (const std::exception& e) {
      return internal_error("backend.failed", e.what());
    }
  }

 private:
  EngineBlob blob_;  // keeps the weights mapped
  Contract contract_;
  std::size_t weight_bytes_;
  cpu::Pool pool_;
  std::optional<Program> program_;
  std::optional<ov::CompiledModel> compiled_;
};

void set_compute(ov::Model& model, cpu::Compute compute) {
  for (const auto& node : model.get_ops()) {
    if (auto* linear = ov::as_type<ovops::Linear>(node.get())) linear->set_compute(compute);
  }
}

ov::AnyMap plugin_properties(int threads, bool fast) {
  return {{ov::hint::inference_precision.name(), fast ? ov::element::bf16 : ov::element::f32},
          {ov::hint::kv_cache_precision.name(), ov::element::f32},
          {ov::hint::dynamic_quantization_group_size.name(), std::uint64_t{0}},
          {ov::hint::performance_mode.name(), ov::hint::PerformanceMode::LATENCY},
          {ov::hint::enable_cpu_pinning.name(), false},
          {ov::inference_num_threads.name(), threads}};
}

class CpuBackend final : public Backend {
 public:
  CpuBackend() : version_(ov::get_openvino_version().buildNumber) {}

  std::string_view name() const override { return "openvino"; }
  std::string_view version() const override { return version_; }
  DeviceAllocator& allocator() override { return allocator_; }

  Status check_target(const TargetInfo& target) const override {
    if (target.compiler == name() && target.os == "linux" && target.arch == "x86_64") {
      return Status::ok();
    }
    return target_mismatch("backend.target_mismatch",
                           "the bundle was built for " + target.name + " (" + target.compiler +
                               ", " + target.os + " " + target.arch +
                               "), this backend runs openvino engines on linux x86_64");
  }

  Result<std::unique_ptr<Engine>> load(const EngineBlob& blob, const Contract& contract,
                                       const EngineOptions& options) override {
    try {
      Result<std::unique_ptr<Engine>> engine = load_unguarded(blob, contract, options);
      if (engine.is_ok()) return engine;
      return engine.status().with_context("section \"" + blob.name + "\"");
    } catch (const std::bad_alloc&) {
      return resource_error("backend.out_of_memory",
                            "no memory to load section \"" + blob.name + "\"");
    } catch (const std::exception& e) {
      return bad_input("backend.bad_engine",
                       "section \"" + blob.name + "\": OpenVINO refuses the model: " + e.what());
    }
  }

 private:
  Result<std::unique_ptr<Engine>> load_unguarded(const EngineBlob& blob, const Contract& contract,
                                                 const EngineOptions& options) {
    const bool fast = options.compute == "bf16";
    if (!fast && !options.compute.empty() && options.compute != "f32") {
      return unsupported("backend.unknown_compute",
                         "compute \"" + options.compute + "\" is not known; use f32 or bf16");
    }
    TRTMC_ASSIGN_OR_RETURN(const EngineFile file, parse_engine_file(blob.bytes));
    const int threads =
        options.threads > 0 ? options.threads : std::min(cpu::usable_cpus(), kMaxAutoThreads);
    // OpenVINO takes a mutable pointer, and never writes to constants.
    const ov::Tensor weights(ov::element::u8, {file.weights.size()},
                             const_cast<void*>(static_cast<const void*>(file.weights.data())));
    const std::shared_ptr<ov::Model> model = core().read_model(std::string(file.xml), weights);
    TRTMC_ASSIGN_OR_RETURN(const std::uint64_t external, place_weights(*model, blob.weights));
    TRTMC_RETURN_IF_ERROR(check_model(*model, contract));
    if (!options.compute.empty()) {
      set_compute(*model, fast ? cpu::Compute::kBF16 : cpu::Compute::kF32);
    }
    auto engine = std::make_unique<CpuEngine>(blob, contract, file.weights.size() + external, threads);
    if (auto program = Program::build(model)) {
      engine->set_program(*std::move(program));
    } else {
      ovops::set_evaluation_threads(threads);
      engine->set_compiled(core().compile_model(model, "CPU", plugin_properties(threads, fast)));
    }
    return std::unique_ptr<Engine>(std::move(engine));
  }

  // Made at the first load: a program that only inspects a bundle does without.
  ov::Core& core() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!core_) {
      core_.emplace();
      ovops::add_operators(*core_);
    }
    return *core_;
  }

  std::string version_;
  HostAllocator allocator_;
  std::mutex mutex_;
  std::optional<ov::Core> core_;
};

bool create(Backend** out, Status* error) {
  try {
    *out = new CpuBackend();
    return true;
  } catch (const std::exception& e) {
    *error = internal_error("backend.failed", e.what());
    return false;
  }
}

const TrtmcBackendV1 kBackend = {sizeof(TrtmcBackendV1), current_abi(), "openvino", create};

}  // namespace
}  // namespace trtmc::openvino

extern "C" TRTMC_EXPORT const TrtmcBackendV1* trtmc_backend_v1() {
  return &trtmc::openvino::kBackend;
}
