// KernelLibrary: a test double behind the backend's interface to TensorRT whose contexts launch
// real kernels: the table model on a real GPU. So streams, staging, graphs and memory of the
// backend are exercised there although TensorRT is not.
//
// Its plan has the table contract and one external weight, "bias" (one float).
#pragma once

#include <memory>

#include "cc/backends/tensorrt/library.h"
#include "trtmc/contract.h"

namespace trtmc::tensorrt::testing {

std::shared_ptr<Library> make_kernel_library(const Contract& contract);

}  // namespace trtmc::tensorrt::testing
