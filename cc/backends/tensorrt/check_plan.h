// Is a plan what the bundle's contract says? Asked once, before anything runs.
#pragma once

#include <vector>

#include "cc/backends/tensorrt/library.h"
#include "trtmc/contract.h"
#include "trtmc/tensor.h"

namespace trtmc::tensorrt {

// Every input, output and profile of the contract is the plan's, and the other way round; what the
// plan has beyond the contract are inputs that `weights` fills. "backend.contract_mismatch" names
// the first tensor or profile that differs, "backend.missing_weight" an input that nothing fills.
Status check_plan(const Plan& plan, const Contract& contract, const TensorMap& weights);

}  // namespace trtmc::tensorrt
