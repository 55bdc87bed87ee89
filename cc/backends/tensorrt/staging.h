// Staging: places in one arena for tensors that live on the host for the caller and on the device
// for the engine. The arena exists twice, pinned and on the device, with the same offsets, so that
// one copy moves all of them.
//
// Knows names and sizes, not which way they are copied.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "cc/backends/tensorrt/handles.h"
#include "cc/backends/tensorrt/weights.h"

namespace trtmc::tensorrt {

class Staging {
 public:
  // Forgets the places; memory stays.
  void clear() {
    places_.clear();
    bytes_ = 0;
  }
  void add(const std::string& name, std::size_t bytes) {
    places_[name] = bytes_;
    bytes_ += aligned(bytes == 0 ? 1 : bytes);
  }
  bool has(const std::string& name) const { return places_.contains(name); }

  // Memory for all places, zeroed on the device: what lies between places is copied too. It grows
  // only, and then moves; `moved` says so. Work that uses the old memory must have finished.
  Status reserve(const DevicePtr& device, StreamHandle stream, bool& moved) {
    moved = false;
    if (bytes_ <= device_.bytes()) return Status::ok();
    device_ = {};  // first, so that both need not fit at once
    host_ = {};
    moved = true;
    TRTMC_ASSIGN_OR_RETURN(DeviceBuffer there, DeviceBuffer::create(device, bytes_, stream));
    TRTMC_ASSIGN_OR_RETURN(host_, PinnedBuffer::create(device, bytes_, stream));
    device_ = std::move(there);
    return device->fill_zero(device_.data(), bytes_, stream);
  }

  std::size_t bytes() const { return bytes_; }
  std::byte* host() const { return host_.data(); }
  std::byte* device() const { return device_.data(); }
  std::byte* host(const std::string& name) const { return host_.data() + places_.at(name); }
  std::byte* device(const std::string& name) const { return device_.data() + places_.at(name); }

 private:
  std::map<std::string, std::size_t> places_;
  std::size_t bytes_ = 0;
  DeviceBuffer device_;
  PinnedBuffer host_;
};

}  // namespace trtmc::tensorrt
