#include "cc/backends/tensorrt/cuda_device.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trtmc::tensorrt {
namespace {

Status status_of(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return Status::ok();
  (void)cudaGetLastError();  // an error that does not stick must not meet the next call
  const std::string text = std::string(call) + ": " + cudaGetErrorName(error) + " (" +
                           cudaGetErrorString(error) + ")";
  switch (error) {
    case cudaErrorMemoryAllocation:
      return resource_error("backend.out_of_memory", text);
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorDevicesUnavailable:
      return target_mismatch("backend.no_gpu",
                             text + "; this runtime needs a driver for CUDA " +
                                 std::to_string(CUDART_VERSION / 1000) + "." +
                                 std::to_string(CUDART_VERSION % 1000 / 10) + " or later");
    default:
      return internal_error("backend.cuda_failed", text);
  }
}

#define TRTMC_CUDA(call, ...) \
  TRTMC_RETURN_IF_ERROR(status_of(call(__VA_ARGS__), #call))

cudaStream_t stream_of(StreamHandle stream) { return static_cast<cudaStream_t>(stream); }

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal) {}

  ~CudaDevice() override {
    if (pool_ == nullptr) return;
    cudaSetDevice(ordinal_);
    cudaMemPoolDestroy(pool_);
  }

  Status open() {
    TRTMC_CUDA(cudaSetDevice, ordinal_);
    cudaDeviceProp properties;
    TRTMC_CUDA(cudaGetDeviceProperties, &properties, ordinal_);
    name_ = properties.name;
    cudaMemPoolProps pool{};
    pool.allocType = cudaMemAllocationTypePinned;
    pool.location = {cudaMemLocationTypeDevice, {ordinal_}};
    TRTMC_CUDA(cudaMemPoolCreate, &pool_, &pool);
    return Status::ok();
  }

  int ordinal() const override { return ordinal_; }
  const std::string& name() const override { return name_; }

  Result<MemoryInfo> memory() override {
    TRTMC_RETURN_IF_ERROR(use());
    std::size_t free = 0, total = 0;
    TRTMC_CUDA(cudaMemGetInfo, &free, &total);
    return MemoryInfo{free, total};
  }

  Result<StreamHandle> create_stream() override {
    TRTMC_RETURN_IF_ERROR(use());
    cudaStream_t stream = nullptr;
    TRTMC_CUDA(cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking);
    return static_cast<StreamHandle>(stream);
  }
  void destroy_stream(StreamHandle stream) override {
    if (!use().is_ok()) return;
    cudaStreamSynchronize(stream_of(stream));
    cudaStreamDestroy(stream_of(stream));
  }
  Status synchronize(StreamHandle stream) override {
    TRTMC_CUDA(cudaStreamSynchronize, stream_of(stream));
    return Status::ok();
  }

  Result<void*> allocate(std::size_t bytes, StreamHandle stream) override {
    TRTMC_RETURN_IF_ERROR(use());
    void* memory = nullptr;
    TRTMC_CUDA(cudaMallocFromPoolAsync, &memory, bytes, pool_, stream_of(stream));
    return memory;
  }
  void free(void* memory, StreamHandle stream) override {
    if (!use().is_ok()) return;
    cudaFreeAsync(memory, stream_of(stream));
    cudaStreamSynchronize(stream_of(stream));  // so that the pool gives it back to the device now
  }
  Result<void*> allocate_pinned(std::size_t bytes) override {
    TRTMC_RETURN_IF_ERROR(use());
    void* memory = nullptr;
    TRTMC_CUDA(cudaMallocHost, &memory, bytes);
    return memory;
  }
  void free_pinned(void* memory) override { cudaFreeHost(memory); }

  Status fill_zero(void* memory, std::size_t bytes, StreamHandle stream) override {
    TRTMC_RETURN_IF_ERROR(use());
    TRTMC_CUDA(cudaMemsetAsync, memory, 0, bytes, stream_of(stream));
    return Status::ok();
  }
  Status copy_to_device(void* to, const void* from, std::size_t bytes,
                        StreamHandle stream) override {
    TRTMC_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyHostToDevice, stream_of(stream));
    return Status::ok();
  }
  Status copy_to_host(void* to, const void* from, std::size_t bytes, StreamHandle stream) override {
    TRTMC_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToHost, stream_of(stream));
    return Status::ok();
  }

  Status begin_capture(StreamHandle stream) override {
    TRTMC_RETURN_IF_ERROR(use());
    TRTMC_CUDA(cudaStreamBeginCapture, stream_of(stream), cudaStreamCaptureModeThreadLocal);
    return Status::ok();
  }
  Result<GraphHandle> end_capture(StreamHandle stream) override {
    cudaGraph_t graph = nullptr;
    TRTMC_CUDA(cudaStreamEndCapture, stream_of(stream), &graph);
    cudaGraphExec_t launchable = nullptr;
    const Status status = status_of(cudaGraphInstantiate(&launchable, graph, 0),
                                    "cudaGraphInstantiate");
    cudaGraphDestroy(graph);
    TRTMC_RETURN_IF_ERROR(status);
    return static_cast<GraphHandle>(launchable);
  }
  Status launch(GraphHandle graph, StreamHandle stream) override {
    TRTMC_CUDA(cudaGraphLaunch, static_cast<cudaGraphExec_t>(graph), stream_of(stream));
    return Status::ok();
  }
  void destroy_graph(GraphHandle graph) override {
    cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
  }

 private:
  // CUDA's current device is the thread's.
  Status use() const { return status_of(cudaSetDevice(ordinal_), "cudaSetDevice"); }

  int ordinal_;
  std::string name_;
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace

Result<DevicePtr> open_cuda_device(int ordinal) {
  auto device = std::make_shared<CudaDevice>(ordinal);
  TRTMC_RETURN_IF_ERROR(device->open());
  return DevicePtr(std::move(device));
}

}  // namespace trtmc::tensorrt
