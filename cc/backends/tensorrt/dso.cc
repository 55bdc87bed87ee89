// The DSO's one symbol: the backend over the machine's driver, CUDA and TensorRT.
#include "cc/backends/tensorrt/backend.h"
#include "cc/backends/tensorrt/cuda_device.h"
#include "cc/backends/tensorrt/library_file.h"
#include "cc/backends/tensorrt/nvinfer.h"
#include "trtmc/export.h"

namespace trtmc::tensorrt {
namespace {

Result<std::shared_ptr<Library>> find_library(const TargetInfo& target) {
  TRTMC_ASSIGN_OR_RETURN(const LibraryFile file, LibraryFile::open(target, library_folders()));
  return open_library(file);
}

Result<std::unique_ptr<Backend>> make_backend() {
  return std::make_unique<TensorRtBackend>(Providers{[] { return find_gpus(); }, open_cuda_device,
                                                     find_library, header_version()});
}

}  // namespace
}  // namespace trtmc::tensorrt

TRTMC_EXPORT_BACKEND("tensorrt", trtmc::tensorrt::make_backend)
