// Device: one GPU, as far as this backend uses CUDA. cuda_device.h is the real one; a test double
// runs the same calls on the host.
//
// Streams are ordered queues; work on them is asynchronous until synchronize(). allocate() and
// free() are ordered on a stream too: memory is usable by later work of that stream, and by any
// other after a synchronize(). Every failure is a Status whose message says which call failed;
// "backend.out_of_memory" (kResource) when the device has too little memory.
//
// Threads: calls may come from several threads; one stream belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "trtmc/status.h"

namespace trtmc::tensorrt {

using StreamHandle = void*;  // cudaStream_t
using GraphHandle = void*;   // cudaGraphExec_t

struct MemoryInfo {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual int ordinal() const = 0;
  virtual const std::string& name() const = 0;  // "NVIDIA H200"
  virtual Result<MemoryInfo> memory() = 0;

  virtual Result<StreamHandle> create_stream() = 0;
  virtual void destroy_stream(StreamHandle stream) = 0;
  virtual Status synchronize(StreamHandle stream) = 0;

  // 256-byte aligned, not initialized.
  virtual Result<void*> allocate(std::size_t bytes, StreamHandle stream) = 0;
  virtual void free(void* memory, StreamHandle stream) = 0;
  virtual Result<void*> allocate_pinned(std::size_t bytes) = 0;
  virtual void free_pinned(void* memory) = 0;

  virtual Status fill_zero(void* memory, std::size_t bytes, StreamHandle stream) = 0;
  virtual Status copy_to_device(void* to, const void* from, std::size_t bytes,
                                StreamHandle stream) = 0;
  virtual Status copy_to_host(void* to, const void* from, std::size_t bytes,
                              StreamHandle stream) = 0;

  // Between the two, work on `stream` is recorded and not run. end_capture() must follow even if
  // recording failed; an error means that there is no graph and that the stream works as before.
  virtual Status begin_capture(StreamHandle stream) = 0;
  virtual Result<GraphHandle> end_capture(StreamHandle stream) = 0;
  virtual Status launch(GraphHandle graph, StreamHandle stream) = 0;
  virtual void destroy_graph(GraphHandle graph) = 0;
};

}  // namespace trtmc::tensorrt
