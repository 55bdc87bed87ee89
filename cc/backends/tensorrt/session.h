// The session of this backend: bindings, staging, one execution context per profile, and for the
// profiles whose runs are all alike a CUDA graph.
#pragma once

#include <memory>

#include "cc/backends/tensorrt/handles.h"
#include "cc/backends/tensorrt/library.h"
#include "cc/backends/tensorrt/weights.h"
#include "trtmc/backend.h"

namespace trtmc::tensorrt {

// What a session borrows from its engine, which outlives it.
struct SessionParts {
  DevicePtr device;
  Plan* plan = nullptr;
  const Contract* contract = nullptr;
  const DeviceWeights* weights = nullptr;
};

// Scratch memory that the contexts of a session share: they never run at the same time.
std::uint64_t session_scratch_bytes(const Plan& plan);

// Device memory for staging the tensors of a usual run: the largest over the profiles' optima.
std::uint64_t session_staging_bytes(const Contract& contract);

Result<std::unique_ptr<Session>> make_session(const SessionParts& parts);

}  // namespace trtmc::tensorrt
