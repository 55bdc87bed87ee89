// PoolAllocator: the cache tensors of this backend, from the device's stream-ordered memory.
#pragma once

#include <memory>
#include <mutex>

#include "cc/backends/tensorrt/handles.h"
#include "trtmc/backend.h"

namespace trtmc::tensorrt {

// Thread-safe. Tensors keep the stream and the device alive for themselves.
class PoolAllocator final : public DeviceAllocator {
 public:
  PoolAllocator(DevicePtr device, Stream stream)
      : shared_(std::make_shared<Shared>(Shared{std::move(device), std::move(stream)})) {}
  static Result<std::unique_ptr<PoolAllocator>> create(DevicePtr device);

  Result<DeviceTensor> allocate(DType dtype, const Shape& shape) override;

 private:
  struct Shared {
    DevicePtr device;
    Stream stream;
  };
  std::mutex mutex_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace trtmc::tensorrt
