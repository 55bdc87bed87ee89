#include "cc/backends/tensorrt/testing/fake_device.h"

#include <cstring>
#include <new>

namespace trtmc::tensorrt::testing {
namespace {

constexpr std::align_val_t kAlign{256};
constexpr int kDirt = 0xAB;  // fresh memory is not zero

}  // namespace

std::string DeviceLog::take() {
  std::string text;
  for (const std::string& call : calls) text += (text.empty() ? "" : "; ") + call;
  calls.clear();
  return text;
}

FakeDevice::~FakeDevice() {
  for (const auto& [memory, block] : blocks_) {
    ::operator delete(const_cast<std::byte*>(memory), kAlign);
  }
}

Status FakeDevice::violation(const std::string& what) {
  ++log_->violations;
  return internal_error("fake.violation", what);
}

const FakeDevice::Block* FakeDevice::block_of(const void* memory, std::size_t bytes) const {
  const auto* at = static_cast<const std::byte*>(memory);
  auto it = blocks_.upper_bound(at);
  if (it == blocks_.begin()) return nullptr;
  --it;
  return at + bytes <= it->first + it->second.bytes ? &it->second : nullptr;
}

bool FakeDevice::is_device_memory(const void* memory, std::size_t bytes) const {
  const Block* block = block_of(memory, bytes);
  return block != nullptr && !block->pinned;
}

FakeDevice::Queue* FakeDevice::queue(StreamHandle stream) {
  if (capturing_ != nullptr && stream == capturing_) return &captured_;
  const auto it = streams_.find(stream);
  return it == streams_.end() ? nullptr : &it->second;
}

Status FakeDevice::enqueue(const std::string& what, StreamHandle stream, Work work) {
  Queue* const to = queue(stream);
  if (to == nullptr) return violation(what + " on a stream that is not there");
  log_->calls.push_back(what);
  to->push_back(std::move(work));
  return Status::ok();
}

Result<MemoryInfo> FakeDevice::memory() { return MemoryInfo{total_ - used_, total_}; }

Result<StreamHandle> FakeDevice::create_stream() {
  const auto handle = reinterpret_cast<StreamHandle>(next_++);
  streams_[handle];
  return handle;
}

void FakeDevice::destroy_stream(StreamHandle stream) {
  if (streams_.erase(stream) == 0) (void)violation("destroy of no stream");
}

Status FakeDevice::synchronize(StreamHandle stream) {
  if (capturing_ != nullptr) return violation("synchronize while capturing");
  const auto it = streams_.find(stream);
  if (it == streams_.end()) return violation("synchronize of no stream");
  log_->calls.push_back("synchronize");
  Queue work;
  work.swap(it->second);
  for (const Work& one : work) TRTMC_RETURN_IF_ERROR(one());
  return Status::ok();
}

Result<void*> FakeDevice::take(std::size_t bytes, bool pinned) {
  if (pinned && refuse_pinned) {
    return resource_error("backend.out_of_memory", "no pinned memory");
  }
  if (!pinned && bytes > total_ - used_) {
    return resource_error("backend.out_of_memory", "the fake device is full");
  }
  void* memory = ::operator new(bytes, kAlign);
  std::memset(memory, kDirt, bytes);
  blocks_[static_cast<std::byte*>(memory)] = {bytes, pinned};
  if (!pinned) used_ += bytes;
  return memory;
}

void FakeDevice::give(void* memory, bool pinned) {
  const auto it = blocks_.find(static_cast<std::byte*>(memory));
  if (it == blocks_.end() || it->second.pinned != pinned) {
    (void)violation("free of what was not allocated so");
    return;
  }
  if (!pinned) used_ -= it->second.bytes;
  blocks_.erase(it);
  ::operator delete(memory, kAlign);
}

Result<void*> FakeDevice::allocate(std::size_t bytes, StreamHandle stream) {
  if (queue(stream) == nullptr) return violation("allocate on no stream");
  return take(bytes, false);
}
void FakeDevice::free(void* memory, StreamHandle stream) {
  if (queue(stream) == nullptr) (void)violation("free on no stream");
  give(memory, false);
}
Result<void*> FakeDevice::allocate_pinned(std::size_t bytes) { return take(bytes, true); }
void FakeDevice::free_pinned(void* memory) { give(memory, true); }

Status FakeDevice::fill_zero(void* memory, std::size_t bytes, StreamHandle stream) {
  if (!is_device_memory(memory, bytes)) return violation("fill_zero outside the device");
  return enqueue("fill_zero " + std::to_string(bytes), stream, [memory, bytes] {
    std::memset(memory, 0, bytes);
    return Status::ok();
  });
}

Status FakeDevice::copy(const char* what, void* to, const void* from, std::size_t bytes,
                        const void* device, const void* host, StreamHandle stream) {
  if (!is_device_memory(device, bytes)) return violation(std::string(what) + " outside the device");
  const Block* pinned = block_of(host, bytes);
  if (pinned != nullptr && !pinned->pinned)
    return violation(std::string(what) + " between devices");
  if (pinned == nullptr && capturing_ != nullptr) {
    return violation(std::string(what) + " of memory that is not pinned in a capture");
  }
  return enqueue(std::string(what) + " " + std::to_string(bytes), stream, [to, from, bytes] {
    std::memcpy(to, from, bytes);
    return Status::ok();
  });
}

Status FakeDevice::copy_to_device(void* to, const void* from, std::size_t bytes,
                                  StreamHandle stream) {
  return copy("copy_to_device", to, from, bytes, to, from, stream);
}
Status FakeDevice::copy_to_host(void* to, const void* from, std::size_t bytes,
                                StreamHandle stream) {
  return copy("copy_to_host", to, from, bytes, from, to, stream);
}

Status FakeDevice::begin_capture(StreamHandle stream) {
  if (capturing_ != nullptr) return violation("capture in a capture");
  if (!streams_.contains(stream)) return violation("capture of no stream");
  log_->calls.push_back("begin_capture");
  capturing_ = stream;
  captured_.clear();
  return Status::ok();
}

Result<GraphHandle> FakeDevice::end_capture(StreamHandle stream) {
  if (capturing_ != stream) return violation("end of no capture");
  log_->calls.push_back("end_capture");
  capturing_ = nullptr;
  if (refuse_capture) return unsupported("backend.cuda_failed", "this cannot be captured");
  const auto handle = reinterpret_cast<GraphHandle>(next_++);
  graphs_[handle] = std::move(captured_);
  return handle;
}

Status FakeDevice::launch(GraphHandle graph, StreamHandle stream) {
  const auto it = graphs_.find(graph);
  if (it == graphs_.end()) return violation("launch of no graph");
  Queue* const to = queue(stream);
  if (to == nullptr) return violation("launch on no stream");
  log_->calls.push_back("launch");
  to->insert(to->end(), it->second.begin(), it->second.end());
  return Status::ok();
}

void FakeDevice::destroy_graph(GraphHandle graph) {
  if (graphs_.erase(graph) == 0) (void)violation("destroy of no graph");
}

}  // namespace trtmc::tensorrt::testing
