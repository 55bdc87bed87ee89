// DeviceWeights: the external weights of an engine on the device, uploaded once, read by every
// context.
#pragma once

#include <map>
#include <string>

#include "cc/backends/tensorrt/handles.h"
#include "trtmc/tensor.h"

namespace trtmc::tensorrt {

inline constexpr std::size_t kDeviceAlignment = 256;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
}

class DeviceWeights {
 public:
  DeviceWeights() = default;

  // One allocation for all; returns when they are there. `stream` must outlive this.
  static Result<DeviceWeights> upload(const DevicePtr& device, const TensorMap& weights,
                                      const Stream& stream) {
    DeviceWeights uploaded;
    TRTMC_ASSIGN_OR_RETURN(uploaded.memory_,
                           DeviceBuffer::create(device, bytes_of(weights), stream.handle()));
    std::size_t at = 0;
    for (const auto& [name, weight] : weights) {
      void* const place = uploaded.memory_.data() + at;
      TRTMC_RETURN_IF_ERROR(
          device->copy_to_device(place, weight.data, weight.bytes(), stream.handle()));
      uploaded.addresses_[name] = place;
      at += aligned(weight.bytes());
    }
    TRTMC_RETURN_IF_ERROR(stream.synchronize());
    return uploaded;
  }

  static std::size_t bytes_of(const TensorMap& weights) {
    std::size_t sum = 0;
    for (const auto& [name, weight] : weights) sum += aligned(weight.bytes());
    return sum;
  }

  std::size_t bytes() const { return memory_.bytes(); }
  const std::map<std::string, void*>& addresses() const { return addresses_; }

 private:
  DeviceBuffer memory_;
  std::map<std::string, void*> addresses_;
};

}  // namespace trtmc::tensorrt
