#include "cc/backends/tensorrt/allocator.h"

#include <algorithm>

#include "cc/backends/tensorrt/memory_text.h"

namespace trtmc::tensorrt {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 44;
constexpr const char* kRemedy = "lower max_sequence or the batch";

}  // namespace

Result<std::unique_ptr<PoolAllocator>> PoolAllocator::create(DevicePtr device) {
  TRTMC_ASSIGN_OR_RETURN(Stream stream, Stream::create(device));
  return std::make_unique<PoolAllocator>(std::move(device), std::move(stream));
}

Result<DeviceTensor> PoolAllocator::allocate(DType dtype, const Shape& shape) {
  const std::string what = "a tensor of shape " + to_string(shape);
  std::int64_t elements = 1;
  for (const std::int64_t d : shape.dims()) {
    if (d < 0 || (d > 0 && elements > kMaxElements / d)) {
      return resource_error("backend.out_of_memory", what + " is too large; " + kRemedy);
    }
    elements *= d;
  }
  const std::size_t bytes = std::max<std::size_t>(1, storage_bytes(dtype, shape));
  const std::lock_guard<std::mutex> lock(mutex_);
  Device& device = *shared_->device;
  const StreamHandle stream = shared_->stream.handle();
  Result<void*> memory = device.allocate(bytes, stream);
  if (!memory.is_ok()) {
    const bool full = memory.status().exit_class() == ExitClass::kResource;
    return full ? too_little(device, what, bytes, kRemedy) : memory.status();
  }
  DeviceTensor tensor(Tensor{*memory, dtype, MemoryKind::kDevice, device.ordinal(), shape},
                      [shared = shared_](void* p) {
                        shared->device->free(p, shared->stream.handle());
                      });
  TRTMC_RETURN_IF_ERROR(device.fill_zero(*memory, bytes, stream));
  TRTMC_RETURN_IF_ERROR(shared_->stream.synchronize());
  return tensor;
}

}  // namespace trtmc::tensorrt
