#include "cc/runtime/external_weights.h"

#include <sys/mman.h>

#include <limits>
#include <optional>
#include <vector>

#include "cc/runtime/convert_weights.h"

namespace trtmc {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

Status bad_manifest(const WeightBinding& binding, const std::string& what) {
  return bad_input("weights.bad_manifest",
                   "weight \"" + binding.input + "\": " + what + "; build the bundle again");
}

// Bytes of a dense tensor, nothing if they do not fit the address space.
std::optional<std::size_t> dense_bytes(DType dtype, const Shape& shape) {
  std::size_t bytes = static_cast<std::size_t>(dtype_bits(dtype)) / 8;
  for (std::int64_t dim : shape.dims()) {
    if (dim < 1 || bytes > (std::numeric_limits<std::size_t>::max() >> 1) /
                               static_cast<std::size_t>(dim)) {
      return std::nullopt;
    }
    bytes *= static_cast<std::size_t>(dim);
  }
  return bytes == 0 ? std::nullopt : std::optional(bytes);
}

// Whole pages, so that they return to the system when the last engine goes.
std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  const std::size_t mapped = (bytes + kPage - 1) / kPage * kPage;
  void* p = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  if (mapped >= 2 * kHugePage) ::madvise(p, mapped, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(p), [mapped](std::byte* memory) { ::munmap(memory, mapped); }};
}

}  // namespace

Result<WeightSet> ExternalWeightManager::weights_of(const BundleEngine& engine) {
  WeightSet set;
  if (engine.weights.empty()) return set;
  const std::optional<StoredWeights>& stored = bundle_->header().weights;
  if (!stored) return bad_manifest(engine.weights.front(), "the bundle stores no weights");
  TRTMC_ASSIGN_OR_RETURN(const std::span<const std::byte> section,
                         bundle_->section(stored->section));
  std::map<std::string_view, const StoredTensor*> tensors;
  for (const StoredTensor& tensor : stored->tensors) tensors.emplace(tensor.name, &tensor);
  std::vector<Buffer> buffers;
  for (const WeightBinding& binding : engine.weights) {
    const auto found = tensors.find(binding.tensor);
    if (found == tensors.end()) {
      return bad_manifest(binding, "tensor \"" + binding.tensor + "\" is not stored");
    }
    const StoredTensor* tensor = found->second;
    const auto bytes = dense_bytes(tensor->dtype, tensor->shape);
    if (!bytes || tensor->offset > section.size() || *bytes > section.size() - tensor->offset) {
      return bad_manifest(binding, "tensor \"" + tensor->name + "\" is not inside section \"" +
                                       stored->section + "\"");
    }
    if (tensor->shape.elements() != binding.shape.elements() ||
        !dense_bytes(binding.dtype, binding.shape)) {
      return bad_manifest(binding, to_string(binding.shape) + " has not as many elements as " +
                                       to_string(tensor->shape));
    }
    const auto content = section.subspan(tensor->offset, *bytes);
    Tensor view{const_cast<std::byte*>(content.data()), binding.dtype, MemoryKind::kHost, 0,
                binding.shape};  // nobody writes to weights
    if (tensor->dtype != binding.dtype) {
      if (!can_convert(tensor->dtype, binding.dtype)) {
        return bad_manifest(binding, "no cast leads from " +
                                         std::string(dtype_name(tensor->dtype)) + " to " +
                                         std::string(dtype_name(binding.dtype)));
      }
      TRTMC_ASSIGN_OR_RETURN(Buffer buffer, converted(*tensor, content, binding.dtype));
      view.data = buffer.get();
      buffers.push_back(std::move(buffer));
    }
    set.tensors[binding.input] = view;
  }
  using Owners = std::pair<std::shared_ptr<const BundleView>, std::vector<Buffer>>;
  set.keepalive = std::make_shared<Owners>(bundle_, std::move(buffers));
  return set;
}

Result<ExternalWeightManager::Buffer> ExternalWeightManager::converted(
    const StoredTensor& tensor, std::span<const std::byte> stored, DType to) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::weak_ptr<std::byte>& known = converted_[{tensor.name, to}];
  if (Buffer buffer = known.lock()) return buffer;
  const std::size_t bytes = *dense_bytes(to, tensor.shape);
  Buffer buffer = allocate(bytes);
  if (buffer == nullptr) {
    return resource_error("weights.out_of_memory",
                          "no memory for " + std::to_string(bytes) + " bytes of weight \"" +
                              tensor.name + "\" as " + std::string(dtype_name(to)) +
                              "; a bundle for this target alone may store it in that type");
  }
  convert_weights(stored.data(), tensor.dtype, buffer.get(), to,
                  static_cast<std::size_t>(tensor.shape.elements()));
  known = buffer;
  return buffer;
}

}  // namespace trtmc
