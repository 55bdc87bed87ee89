// The narrow interface to TensorRT: everything that the backend asks of the library, in words of
// ours. nvinfer.cc implements it over TensorRT's own headers and is the only file that needs them;
// a test double stands in for it elsewhere.
//
// Lifetime: a Library outlives its plans, a Plan outlives its contexts. Nothing throws. Where the
// library itself gives a reason (its log), the Status carries it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cc/backends/tensorrt/device.h"
#include "trtmc/dtype.h"
#include "trtmc/status.h"
#include "trtmc/tensor.h"

namespace trtmc::tensorrt {

// An input or output of a plan. A dynamic size is -1.
struct PlanTensor {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  bool input = false;
  bool on_device = true;  // false: the library wants its address on the host
};

struct ShapeRange {
  Shape min;
  Shape max;
};

// What the library should do about code that it compiles at run time.
struct JitOptions {
  // Kernels for the shapes at hand at once, rather than general ones first: for a profile whose
  // runs are all alike.
  bool eager = false;
};

// One execution context: the shapes and addresses of one stream of runs.
class Context {
 public:
  virtual ~Context() = default;
  virtual Status set_profile(int index, StreamHandle stream) = 0;
  virtual Status set_scratch(void* memory, std::size_t bytes) = 0;
  virtual Status set_shape(const std::string& input, const Shape& shape) = 0;
  virtual Status set_address(const std::string& tensor, void* memory) = 0;
  // As the context sees it for the shapes that were set.
  virtual Result<Shape> shape(const std::string& tensor) = 0;
  virtual Status enqueue(StreamHandle stream) = 0;
};

// A plan on the device.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual const std::vector<PlanTensor>& tensors() const = 0;
  virtual int profiles() const = 0;
  virtual Result<ShapeRange> profile_range(const std::string& input, int profile) const = 0;
  virtual std::uint64_t scratch_bytes(int profile) const = 0;
  virtual Result<std::unique_ptr<Context>> create_context(const JitOptions& options) = 0;
  // What was compiled at run time, to be given to the next deserialize(); empty if nothing.
  virtual std::vector<std::byte> jit_cache() = 0;
};

class Library {
 public:
  virtual ~Library() = default;
  virtual std::string_view version() const = 0;  // "1.7.1"
  // "backend.bad_engine" (kBadInput) for bytes that the library does not take. `jit_cache` is what
  // Plan::jit_cache() gave once, or empty; a wrong one is ignored.
  virtual Result<std::unique_ptr<Plan>> deserialize(std::span<const std::byte> plan,
                                                    std::span<const std::byte> jit_cache) = 0;
};

}  // namespace trtmc::tensorrt
