// A fat bundle that answers from the CPU although this machine has a GPU for it: the sentence that
// says so. A slow answer must not hide a library or a driver that is missing.
#pragma once

#include <string>

#include "cc/gpu/machine.h"
#include "cc/runtime/choose_target.h"

namespace trtmc {

// What is missing and what to do; "" where nothing is: a GPU target was chosen, or the machine has
// no GPU that one of the targets passed over is for.
std::string gpu_unused(const TargetChoice& choice, const GpuMachine& machine);

}  // namespace trtmc
