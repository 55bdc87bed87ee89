// The real Device: CUDA's runtime, linked statically. The only header here that names it is the
// source file's.
#pragma once

#include "cc/backends/tensorrt/handles.h"

namespace trtmc::tensorrt {

// "backend.no_gpu" (kTargetMismatch) if the driver or that GPU is missing, or the driver is older
// than the CUDA runtime in this library.
Result<DevicePtr> open_cuda_device(int ordinal);

}  // namespace trtmc::tensorrt
