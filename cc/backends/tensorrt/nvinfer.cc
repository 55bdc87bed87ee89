#include "cc/backends/tensorrt/nvinfer.h"

#include <NvInferRuntime.h>

#include <algorithm>
#include <mutex>
#include <optional>

namespace trtmc::tensorrt {
namespace {

namespace nv = nvinfer1;

constexpr std::size_t kMostLog = 2000;

// Keeps what the library says about a failure, for the Status of the call that failed.
class Log final : public nv::ILogger {
 public:
  void log(Severity severity, const nv::AsciiChar* text) noexcept override {
    if (severity > Severity::kERROR) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      if (text_.size() < kMostLog) text_ += (text_.empty() ? "" : "; ") + std::string(text);
    } catch (...) {  // no memory for a message
    }
  }

  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    text_.clear();
  }
  std::string take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return text_.empty() ? "the library gives no reason" : std::exchange(text_, {});
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

std::optional<DType> dtype_of(nv::DataType type) {
  switch (type) {
    case nv::DataType::kFLOAT: return DType::kFloat32;
    case nv::DataType::kHALF: return DType::kFloat16;
    case nv::DataType::kBF16: return DType::kBFloat16;
    case nv::DataType::kINT64: return DType::kInt64;
    case nv::DataType::kINT32: return DType::kInt32;
    case nv::DataType::kINT8: return DType::kInt8;
    case nv::DataType::kUINT8: return DType::kUInt8;
    case nv::DataType::kBOOL: return DType::kBool;
    case nv::DataType::kFP8: return DType::kFloat8E4M3;
    case nv::DataType::kINT4: return DType::kInt4;
    case nv::DataType::kFP4: return DType::kFloat4E2M1;
    case nv::DataType::kE8M0: return DType::kFloat8E8M0;
  }
  return std::nullopt;
}

Result<Shape> shape_of(const nv::Dims& dims, const std::string& what) {
  if (dims.nbDims < 0 || dims.nbDims > static_cast<int>(kMaxRank)) {
    return bad_input("backend.bad_engine", what + " has rank " + std::to_string(dims.nbDims));
  }
  Shape shape;
  for (int i = 0; i < dims.nbDims; ++i) shape.push_back(dims.d[i]);
  return shape;
}

nv::Dims dims_of(const Shape& shape) {
  nv::Dims dims{};
  dims.nbDims = static_cast<std::int32_t>(shape.rank());
  for (std::size_t i = 0; i < shape.rank(); ++i) dims.d[i] = shape[i];
  return dims;
}

Status failed(Log& log, const std::string& call) {
  return internal_error("backend.failed", "TensorRT's " + call + " failed: " + log.take());
}

class NvContext final : public Context {
 public:
  NvContext(std::unique_ptr<nv::IExecutionContext> context, Log& log)
      : context_(std::move(context)), log_(log) {}

  Status set_profile(int index, StreamHandle stream) override {
    log_.clear();
    const bool ok = context_->setOptimizationProfileAsync(index, static_cast<cudaStream_t>(stream));
    return ok ? Status::ok() : failed(log_, "setOptimizationProfileAsync");
  }
  Status set_scratch(void* memory, std::size_t bytes) override {
    context_->setDeviceMemoryV2(memory, static_cast<std::int64_t>(bytes));
    return Status::ok();
  }
  Status set_shape(const std::string& input, const Shape& shape) override {
    log_.clear();
    if (context_->setInputShape(input.c_str(), dims_of(shape))) return Status::ok();
    return failed(log_, "setInputShape(\"" + input + "\", " + to_string(shape) + ")");
  }
  Status set_address(const std::string& tensor, void* memory) override {
    log_.clear();
    if (context_->setTensorAddress(tensor.c_str(), memory)) return Status::ok();
    return failed(log_, "setTensorAddress(\"" + tensor + "\")");
  }
  Result<Shape> shape(const std::string& tensor) override {
    return shape_of(context_->getTensorShape(tensor.c_str()), "tensor \"" + tensor + "\"");
  }
  Status enqueue(StreamHandle stream) override {
    log_.clear();
    if (context_->enqueueV3(static_cast<cudaStream_t>(stream))) return Status::ok();
    return failed(log_, "enqueueV3");
  }

 private:
  std::unique_ptr<nv::IExecutionContext> context_;
  Log& log_;
};

// TensorRT-RTX compiles kernels at run time and can keep them. Its interface for that is in the
// headers of its SDK alone; without them the library's own defaults hold and nothing is kept.
// One thread at a time.
#ifdef TRT_MAJOR_RTX
class Jit {
 public:
  Jit(nv::ICudaEngine& engine, std::span<const std::byte> kept)
      : engine_(engine), config_(engine.createRuntimeConfig()) {
    if (!config_) return;
    config_->setExecutionContextAllocationStrategy(
        nv::ExecutionContextAllocationStrategy::kUSER_MANAGED);
    // Graphs are this backend's own: it records its copies with them.
    (void)config_->setCudaGraphStrategy(nv::CudaGraphStrategy::kDISABLED);
    cache_.reset(config_->createRuntimeCache());
    if (!cache_) return;
    if (!kept.empty()) (void)cache_->deserialize(kept.data(), kept.size());
    (void)config_->setRuntimeCache(*cache_);
  }

  std::unique_ptr<nv::IExecutionContext> create_context(const JitOptions& options) {
    if (!config_) return nullptr;
    using Strategy = nv::DynamicShapesKernelSpecializationStrategy;
    (void)config_->setDynamicShapesKernelSpecializationStrategy(
        options.eager ? Strategy::kEAGER : Strategy::kLAZY);
    return std::unique_ptr<nv::IExecutionContext>(engine_.createExecutionContext(config_.get()));
  }

  std::vector<std::byte> kept() const {
    const std::unique_ptr<nv::IHostMemory> memory(cache_ ? cache_->serialize() : nullptr);
    if (!memory) return {};
    const auto* at = static_cast<const std::byte*>(memory->data());
    return {at, at + memory->size()};
  }

 private:
  nv::ICudaEngine& engine_;
  std::unique_ptr<nv::IRuntimeConfig> config_;  // before the cache, which it made
  std::unique_ptr<nv::IRuntimeCache> cache_;
};
#else
class Jit {
 public:
  Jit(nv::ICudaEngine& engine, std::span<const std::byte>) : engine_(engine) {}
  std::unique_ptr<nv::IExecutionContext> create_context(const JitOptions&) {
    return std::unique_ptr<nv::IExecutionContext>(
        engine_.createExecutionContext(nv::ExecutionContextAllocationStrategy::kUSER_MANAGED));
  }
  std::vector<std::byte> kept() const { return {}; }

 private:
  nv::ICudaEngine& engine_;
};
#endif

class NvPlan final : public Plan {
 public:
  NvPlan(std::unique_ptr<nv::ICudaEngine> engine, Log& log, std::span<const std::byte> kept)
      : engine_(std::move(engine)), jit_(*engine_, kept), log_(log) {}

  // Reads the inputs and outputs.
  Status describe() {
    for (int i = 0; i < engine_->getNbIOTensors(); ++i) {
      const char* const name = engine_->getIOTensorName(i);
      PlanTensor tensor;
      tensor.name = name;
      const std::optional<DType> dtype = dtype_of(engine_->getTensorDataType(name));
      if (!dtype) {
        return bad_input("backend.bad_engine",
                         "tensor \"" + tensor.name + "\" has a type that this runtime lacks");
      }
      tensor.dtype = *dtype;
      TRTMC_ASSIGN_OR_RETURN(
          tensor.shape, shape_of(engine_->getTensorShape(name), "tensor \"" + tensor.name + "\""));
      tensor.input = engine_->getTensorIOMode(name) == nv::TensorIOMode::kINPUT;
      tensor.on_device = engine_->getTensorLocation(name) == nv::TensorLocation::kDEVICE;
      tensors_.push_back(std::move(tensor));
    }
    return Status::ok();
  }

  const std::vector<PlanTensor>& tensors() const override { return tensors_; }
  int profiles() const override { return engine_->getNbOptimizationProfiles(); }

  Result<ShapeRange> profile_range(const std::string& input, int profile) const override {
    ShapeRange range;
    using Select = nv::OptProfileSelector;
    for (const auto& [shape, side] :
         {std::pair{&range.min, Select::kMIN}, std::pair{&range.max, Select::kMAX}}) {
      TRTMC_ASSIGN_OR_RETURN(*shape,
                             shape_of(engine_->getProfileShape(input.c_str(), profile, side),
                                      "the profile of \"" + input + "\""));
    }
    return range;
  }

  std::uint64_t scratch_bytes(int profile) const override {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, engine_->getDeviceMemorySizeForProfileV2(profile)));
  }

  Result<std::unique_ptr<Context>> create_context(const JitOptions& options) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    log_.clear();
    std::unique_ptr<nv::IExecutionContext> context = jit_.create_context(options);
    if (!context) return failed(log_, "createExecutionContext");
    return std::make_unique<NvContext>(std::move(context), log_);
  }

  std::vector<std::byte> jit_cache() override { return jit_.kept(); }

 private:
  std::unique_ptr<nv::ICudaEngine> engine_;
  std::mutex mutex_;
  Jit jit_;
  Log& log_;
  std::vector<PlanTensor> tensors_;
};

class NvLibrary final : public Library {
 public:
  explicit NvLibrary(std::string version) : version_(std::move(version)) {}

  Status open(const LibraryFile& file) {
    runtime_.reset(static_cast<nv::IRuntime*>(file.create_runtime()(&log_, NV_TENSORRT_VERSION)));
    if (runtime_) return Status::ok();
    return missing_component("backend.wrong_library",
                             file.path() + " (version " + version_ +
                                 ") makes no runtime for an interface of version " +
                                 header_version() + ": " + log_.take());
  }

  std::string_view version() const override { return version_; }

  Result<std::unique_ptr<Plan>> deserialize(std::span<const std::byte> plan,
                                            std::span<const std::byte> jit_cache) override {
    log_.clear();
    std::unique_ptr<nv::ICudaEngine> engine(
        runtime_->deserializeCudaEngine(plan.data(), plan.size()));
    if (!engine) {
      return bad_input("backend.bad_engine",
                       "TensorRT " + version_ + " does not take the engine: " + log_.take());
    }
    auto loaded = std::make_unique<NvPlan>(std::move(engine), log_, jit_cache);
    TRTMC_RETURN_IF_ERROR(loaded->describe());
    return loaded;
  }

 private:
  std::string version_;
  Log log_;  // before the runtime, which uses it
  std::unique_ptr<nv::IRuntime> runtime_;
};

}  // namespace

std::string header_version() {
  const std::string numbers = std::to_string(NV_TENSORRT_MAJOR) + "." +
                              std::to_string(NV_TENSORRT_MINOR) + "." +
                              std::to_string(NV_TENSORRT_PATCH);
#ifdef TRT_MAJOR_RTX
  return "RTX " + numbers;
#else
  return numbers;
#endif
}

Result<std::shared_ptr<Library>> open_library(const LibraryFile& file) {
  auto library = std::make_shared<NvLibrary>(file.version().text());
  TRTMC_RETURN_IF_ERROR(library->open(file));
  return std::shared_ptr<Library>(std::move(library));
}

}  // namespace trtmc::tensorrt
