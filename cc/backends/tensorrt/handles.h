// Owners of what a Device gives out: each gives it back once, and keeps the device alive until
// then.
#pragma once

#include <memory>
#include <utility>

#include "cc/backends/tensorrt/device.h"

namespace trtmc::tensorrt {

using DevicePtr = std::shared_ptr<Device>;

class Stream {
 public:
  static Result<Stream> create(DevicePtr device) {
    TRTMC_ASSIGN_OR_RETURN(const StreamHandle handle, device->create_stream());
    return Stream(std::move(device), handle);
  }
  Stream(Stream&& other) noexcept
      : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream() {
    if (device_) device_->destroy_stream(handle_);
  }

  StreamHandle handle() const { return handle_; }
  Status synchronize() const { return device_->synchronize(handle_); }

 private:
  Stream(DevicePtr device, StreamHandle handle) : device_(std::move(device)), handle_(handle) {}
  DevicePtr device_;
  StreamHandle handle_;
};

// Memory on the device or pinned on the host, by `Pinned`. An empty one owns nothing.
template <bool Pinned>
class Buffer {
 public:
  Buffer() = default;
  // `stream` must outlive the buffer; not used for pinned memory.
  static Result<Buffer> create(DevicePtr device, std::size_t bytes, StreamHandle stream) {
    Buffer buffer;
    if (bytes == 0) return buffer;
    if constexpr (Pinned) {
      TRTMC_ASSIGN_OR_RETURN(buffer.data_, device->allocate_pinned(bytes));
    } else {
      TRTMC_ASSIGN_OR_RETURN(buffer.data_, device->allocate(bytes, stream));
    }
    buffer.device_ = std::move(device);
    buffer.stream_ = stream;
    buffer.bytes_ = bytes;
    return buffer;
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (!device_) return;
    if constexpr (Pinned) {
      device_->free_pinned(data_);
    } else {
      device_->free(data_, stream_);
    }
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(Buffer& other) {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(stream_, other.stream_);
    std::swap(bytes_, other.bytes_);
  }
  DevicePtr device_;
  void* data_ = nullptr;
  StreamHandle stream_ = nullptr;
  std::size_t bytes_ = 0;
};

using DeviceBuffer = Buffer<false>;
using PinnedBuffer = Buffer<true>;

class Graph {
 public:
  Graph() = default;
  Graph(DevicePtr device, GraphHandle handle) : device_(std::move(device)), handle_(handle) {}
  Graph(Graph&& other) noexcept { swap(other); }
  Graph& operator=(Graph&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Graph() {
    if (device_) device_->destroy_graph(handle_);
  }
  explicit operator bool() const { return device_ != nullptr; }
  Status launch(StreamHandle stream) const { return device_->launch(handle_, stream); }

 private:
  void swap(Graph& other) {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
  }
  DevicePtr device_;
  GraphHandle handle_ = nullptr;
};

}  // namespace trtmc::tensorrt
