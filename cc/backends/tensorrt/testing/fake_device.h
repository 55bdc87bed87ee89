// FakeDevice: a GPU that runs on the host and refuses what a real one would get wrong silently.
//
// Its memory is host memory that it keeps a list of. Work is queued per stream and runs at
// synchronize() only, so whoever reads too early reads old bytes. A captured graph keeps its work
// and runs it again at each launch. Copies must lie within one live allocation on each side; inside
// a capture the host side must be pinned. A violation is an error at the call, and is counted.
//
// Every call is written to a log that the test reads: "copy_to_device 512", "launch", ….
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cc/backends/tensorrt/device.h"

namespace trtmc::tensorrt::testing {

struct DeviceLog {
  std::vector<std::string> calls;
  int violations = 0;
  // Calls since the last take(), joined with "; ".
  std::string take();
};

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(std::shared_ptr<DeviceLog> log, std::uint64_t memory = std::uint64_t{1} << 30)
      : log_(std::move(log)), total_(memory) {}
  ~FakeDevice() override;

  int ordinal() const override { return 0; }
  const std::string& name() const override { return name_; }
  Result<MemoryInfo> memory() override;
  Result<StreamHandle> create_stream() override;
  void destroy_stream(StreamHandle stream) override;
  Status synchronize(StreamHandle stream) override;
  Result<void*> allocate(std::size_t bytes, StreamHandle stream) override;
  void free(void* memory, StreamHandle stream) override;
  Result<void*> allocate_pinned(std::size_t bytes) override;
  void free_pinned(void* memory) override;
  Status fill_zero(void* memory, std::size_t bytes, StreamHandle stream) override;
  Status copy_to_device(void* to, const void* from, std::size_t bytes,
                        StreamHandle stream) override;
  Status copy_to_host(void* to, const void* from, std::size_t bytes, StreamHandle stream) override;
  Status begin_capture(StreamHandle stream) override;
  Result<GraphHandle> end_capture(StreamHandle stream) override;
  Status launch(GraphHandle graph, StreamHandle stream) override;
  void destroy_graph(GraphHandle graph) override;

  // For the library double: queues work as a kernel would be. A work that fails makes the next
  // synchronize() fail.
  using Work = std::function<Status()>;
  Status enqueue(const std::string& what, StreamHandle stream, Work work);
  bool is_device_memory(const void* memory, std::size_t bytes) const;

  std::uint64_t used() const { return used_; }
  std::size_t allocations() const { return blocks_.size(); }
  std::size_t streams() const { return streams_.size(); }
  std::size_t graphs() const { return graphs_.size(); }
  bool refuse_capture = false;
  bool refuse_pinned = false;

 private:
  struct Block {
    std::size_t bytes = 0;
    bool pinned = false;
  };
  using Queue = std::vector<Work>;

  Status violation(const std::string& what);
  const Block* block_of(const void* memory, std::size_t bytes) const;
  Status copy(const char* what, void* to, const void* from, std::size_t bytes, const void* device,
              const void* host, StreamHandle stream);
  Result<void*> take(std::size_t bytes, bool pinned);
  void give(void* memory, bool pinned);
  Queue* queue(StreamHandle stream);

  std::shared_ptr<DeviceLog> log_;
  std::uint64_t total_;
  std::uint64_t used_ = 0;
  std::string name_ = "Fake GPU";
  std::map<const std::byte*, Block> blocks_;
  std::map<StreamHandle, Queue> streams_;
  std::map<GraphHandle, Queue> graphs_;
  StreamHandle capturing_ = nullptr;
  Queue captured_;
  std::uintptr_t next_ = 0x1000;
};

}  // namespace trtmc::tensorrt::testing
