// Tensor: a non-owning view of dense row-major memory, with dtype and shape; and DeviceTensor,
// which owns memory that a backend's allocator gave out.
//
// A Tensor is a plain value: copying it copies the view, never the data. Whoever made it keeps
// the memory alive for as long as the view is used. Nothing here is thread-safe or synchronises.
//
//   std::vector<std::int64_t> ids = {1, 2, 3};
//   Tensor t = Tensor::of(ids.data(), {1, 3});
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "trtmc/dtype.h"

namespace trtmc {

inline constexpr std::size_t kMaxRank = 8;

// Dimensions, outermost first. Rank 0 is a scalar with one element.
class Shape {
 public:
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> dims) {
    for (std::int64_t d : dims) push_back(d);
  }

  constexpr std::size_t rank() const { return rank_; }
  constexpr std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  constexpr std::int64_t& operator[](std::size_t i) { return dims_[i]; }
  constexpr std::span<const std::int64_t> dims() const { return {dims_.data(), rank_}; }

  // Ignored beyond kMaxRank; contracts of a higher rank are refused when read.
  constexpr void push_back(std::int64_t d) {
    if (rank_ < kMaxRank) dims_[rank_++] = d;
  }

  constexpr std::int64_t elements() const {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < rank_; ++i) n *= dims_[i];
    return n;
  }

  constexpr bool operator==(const Shape& other) const {
    if (rank_ != other.rank_) return false;
    for (std::size_t i = 0; i < rank_; ++i) {
      if (dims_[i] != other.dims_[i]) return false;
    }
    return true;
  }

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  std::size_t rank_ = 0;
};

// "[1, 9, 2048, 64]", for messages.
inline std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    text += (i ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

enum class MemoryKind : std::uint8_t { kHost = 0, kDevice = 1 };

// Bytes that `shape` of `dtype` takes; rows of sub-byte types are padded to a byte.
constexpr std::size_t storage_bytes(DType dtype, const Shape& shape) {
  if (shape.rank() == 0) return static_cast<std::size_t>((dtype_bits(dtype) + 7) / 8);
  const std::int64_t row = shape[shape.rank() - 1];
  const std::int64_t rows = row == 0 ? 0 : shape.elements() / row;
  return static_cast<std::size_t>(rows * ((row * dtype_bits(dtype) + 7) / 8));
}

struct Tensor {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
  MemoryKind memory = MemoryKind::kHost;
  std::int32_t device = 0;  // ordinal, meaningful for kDevice only
  Shape shape;

  template <class T>
  static Tensor of(T* data, Shape shape) {
    return Tensor{data, dtype_of<T>::value, MemoryKind::kHost, 0, shape};
  }

  std::size_t bytes() const { return storage_bytes(dtype, shape); }

  // The elements as T; the caller knows that T is this dtype and that the memory is on the host.
  template <class T>
  std::span<T> as() const {
    return {static_cast<T*>(data), static_cast<std::size_t>(shape.elements())};
  }
};

using TensorMap = std::map<std::string, Tensor, std::less<>>;

// Owns one allocation of a DeviceAllocator (backend.h) and gives it back when destroyed.
// Move-only. It must not outlive the Backend whose allocator made it.
class DeviceTensor {
 public:
  using Release = std::function<void(void*)>;

  DeviceTensor() = default;
  DeviceTensor(Tensor view, Release release) : view_(view), release_(std::move(release)) {}
  DeviceTensor(DeviceTensor&& other) noexcept
      : view_(std::exchange(other.view_, {})), release_(std::exchange(other.release_, {})) {}
  DeviceTensor& operator=(DeviceTensor&& other) noexcept {
    std::swap(view_, other.view_);
    std::swap(release_, other.release_);
    return *this;
  }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;
  ~DeviceTensor() {
    if (release_ && view_.data != nullptr) release_(view_.data);
  }

  const Tensor& view() const { return view_; }

 private:
  Tensor view_;
  Release release_;
};

}  // namespace trtmc
