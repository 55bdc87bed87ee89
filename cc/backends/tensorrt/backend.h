// TensorRtBackend: runs plans of TensorRT-RTX and of enterprise TensorRT 11 on one GPU.
//
// What touches a machine comes in through Providers, so that all of it but the providers runs, and
// is tested, without a GPU and without TensorRT.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cc/backends/tensorrt/allocator.h"
#include "cc/backends/tensorrt/library.h"
#include "cc/gpu/machine.h"
#include "trtmc/backend.h"

namespace trtmc::tensorrt {

struct Providers {
  std::function<GpuMachine()> machine;                   // the driver's answer
  std::function<Result<DevicePtr>(int ordinal)> device;  // CUDA on that GPU
  // TensorRT for the target; opened once per target.
  std::function<Result<std::shared_ptr<Library>>(const TargetInfo&)> library;
  std::string version;  // of TensorRT's interface that this backend was compiled against
};

// One backend serves one GPU: the one that the first load() names.
class TensorRtBackend final : public Backend {
 public:
  explicit TensorRtBackend(Providers providers) : providers_(std::move(providers)) {}

  std::string_view name() const override { return "tensorrt"; }
  std::string_view version() const override { return providers_.version; }

  // Asks the driver, and for a GPU that fits opens the library: where that is missing, a bundle's
  // next target gets its turn.
  Status check_target(const TargetInfo& target) const override;

  DeviceAllocator& allocator() override { return allocator_; }

  // Beside what backend.h names: "backend.missing_library", "backend.wrong_library",
  // "backend.missing_weight", "backend.out_of_memory", "backend.second_gpu" (kUsage).
  Result<std::unique_ptr<Engine>> load(const EngineBlob& blob, const Contract& contract,
                                       const EngineOptions& options) override;

 private:
  // Allocates on the backend's GPU; without a load() before, on GPU 0.
  class Allocator final : public DeviceAllocator {
   public:
    explicit Allocator(TensorRtBackend& backend) : backend_(backend) {}
    Result<DeviceTensor> allocate(DType dtype, const Shape& shape) override;

   private:
    TensorRtBackend& backend_;
  };

  Result<std::unique_ptr<Engine>> load_unguarded(const EngineBlob& blob, const Contract& contract,
                                                 const EngineOptions& options);
  Result<DevicePtr> device(std::optional<int> ordinal);
  Result<std::shared_ptr<Library>> library(const TargetInfo& target) const;

  Providers providers_;
  Allocator allocator_{*this};
  mutable std::mutex mutex_;
  DevicePtr device_;
  std::unique_ptr<PoolAllocator> pool_;
  mutable std::shared_ptr<Library> library_;
  mutable std::string library_key_;
};

}  // namespace trtmc::tensorrt
