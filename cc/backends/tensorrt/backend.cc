#include "cc/backends/tensorrt/backend.h"

#include <exception>
#include <new>

#include "cc/backends/tensorrt/check_plan.h"
#include "cc/backends/tensorrt/jit_cache.h"
#include "cc/backends/tensorrt/memory_text.h"
#include "cc/backends/tensorrt/session.h"

namespace trtmc::tensorrt {
namespace {

class TensorRtEngine final : public Engine {
 public:
  TensorRtEngine(Contract contract, DevicePtr device, std::shared_ptr<Library> library,
                 std::unique_ptr<Plan> plan, std::uint64_t plan_bytes, Stream stream,
                 DeviceWeights weights, JitCache cache)
      : contract_(std::move(contract)),
        device_(std::move(device)),
        library_(std::move(library)),
        plan_(std::move(plan)),
        plan_bytes_(plan_bytes),
        stream_(std::move(stream)),
        weights_(std::move(weights)),
        cache_(std::move(cache)) {}
  ~TensorRtEngine() override {
    try {
      cache_.write(plan_->jit_cache());
    } catch (const std::exception&) {  // no memory for it: a cache never makes an error
    }
  }

  const Contract& contract() const override { return contract_; }

  MemoryReport memory() const override {
    MemoryReport report;
    report.weights = plan_bytes_ + weights_.bytes();
    report.per_session = session_scratch_bytes(*plan_) + session_staging_bytes(contract_);
    if (const auto memory = device_->memory(); memory.is_ok()) report.available = memory->free;
    return report;
  }

  Result<std::unique_ptr<Session>> create_session() override {
    try {
      return make_session({device_, plan_.get(), &contract_, &weights_});
    } catch (const std::exception& e) {
      return internal_error("backend.failed", e.what());
    }
  }

 private:
  Contract contract_;
  DevicePtr device_;
  std::shared_ptr<Library> library_;  // before the plan
  std::unique_ptr<Plan> plan_;
  std::uint64_t plan_bytes_;
  Stream stream_;  // before the weights
  DeviceWeights weights_;
  JitCache cache_;
};

}  // namespace

Result<DeviceTensor> TensorRtBackend::Allocator::allocate(DType dtype, const Shape& shape) {
  TRTMC_RETURN_IF_ERROR(backend_.device(std::nullopt).status());
  return backend_.pool_->allocate(dtype, shape);
}

Status TensorRtBackend::check_target(const TargetInfo& target) const {
  if (target.compiler != "tensorrt" && target.compiler != "tensorrt_rtx") {
    return target_mismatch("backend.target_mismatch",
                           "target " + target.name + " is of compiler " + target.compiler +
                               "; this backend runs engines of tensorrt_rtx and tensorrt");
  }
  TRTMC_RETURN_IF_ERROR(check_gpu_target(target, providers_.machine()));
  return library(target).status();
}

// The GPU of this backend, opened once.
Result<DevicePtr> TensorRtBackend::device(std::optional<int> ordinal) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (device_ && ordinal && *ordinal != device_->ordinal()) {
    return usage_error("backend.second_gpu", "this runtime object already uses GPU " +
                       std::to_string(device_->ordinal()) + "; load the bundle again for GPU " +
                       std::to_string(*ordinal));
  }
  if (!device_) {
    TRTMC_ASSIGN_OR_RETURN(DevicePtr device, providers_.device(ordinal.value_or(0)));
    TRTMC_ASSIGN_OR_RETURN(pool_, PoolAllocator::create(device));
    device_ = std::move(device);
  }
  return device_;
}

Result<std::shared_ptr<Library>> TensorRtBackend::library(const TargetInfo& target) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string key = target.compiler + " " + target.compiler_version;
  if (!library_ || key != library_key_) {
    TRTMC_ASSIGN_OR_RETURN(library_, providers_.library(target));
    library_key_ = key;
  }
  return library_;
}

Result<std::unique_ptr<Engine>> TensorRtBackend::load(const EngineBlob& blob,
                                                      const Contract& contract,
                                                      const EngineOptions& options) {
  try {
    Result<std::unique_ptr<Engine>> engine = load_unguarded(blob, contract, options);
    if (engine.is_ok()) return engine;
    return engine.status().with_context("section \"" + blob.name + "\"");
  } catch (const std::bad_alloc&) {
    return resource_error("backend.out_of_memory",
                          "no host memory to load section \"" + blob.name + "\"");
  } catch (const std::exception& e) {
    return internal_error("backend.failed", "section \"" + blob.name + "\": " + e.what());
  }
}

Result<std::unique_ptr<Engine>> TensorRtBackend::load_unguarded(const EngineBlob& blob,
                                                                const Contract& contract,
                                                                const EngineOptions& options) {
  if (!options.compute.empty()) {
    return unsupported("backend.unknown_compute",
                       "compute \"" + options.compute +
                           "\" is not known: a GPU engine computes in the precision that it was "
                           "built for; leave --compute out");
  }
  // The driver first: the library is not asked about a GPU that the engine is not for.
  const GpuMachine machine = providers_.machine();
  TRTMC_RETURN_IF_ERROR(check_gpu_target(blob.target, machine, options.device));
  TRTMC_ASSIGN_OR_RETURN(const std::shared_ptr<Library> library, this->library(blob.target));
  TRTMC_ASSIGN_OR_RETURN(const DevicePtr device, this->device(options.device));

  const std::uint64_t needed = blob.bytes.size() + DeviceWeights::bytes_of(blob.weights);
  TRTMC_RETURN_IF_ERROR(check_fits(*device, "the engine with its weights", needed,
                                   "free memory there, choose another GPU (--device), or build the "
                                   "bundle in a smaller precision"));
  const Gpu& gpu = machine.gpus[static_cast<std::size_t>(options.device)];
  JitCache cache(options.cache_dir, {blob.bundle, blob.name, gpu.name + " " + gpu.capability(),
                                     machine.driver_version, std::string(library->version())});
  TRTMC_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan,
                         library->deserialize(blob.bytes, cache.read()));
  TRTMC_RETURN_IF_ERROR(check_plan(*plan, contract, blob.weights));
  TRTMC_ASSIGN_OR_RETURN(Stream stream, Stream::create(device));
  TRTMC_ASSIGN_OR_RETURN(DeviceWeights weights,
                         DeviceWeights::upload(device, blob.weights, stream));
  return std::make_unique<TensorRtEngine>(contract, device, library, std::move(plan),
                                          blob.bytes.size(), std::move(stream), std::move(weights),
                                          std::move(cache));
}

}  // namespace trtmc::tensorrt
