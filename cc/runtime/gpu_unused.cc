#include "cc/runtime/gpu_unused.h"

#include <algorithm>

namespace trtmc {

std::string gpu_unused(const TargetChoice& choice, const GpuMachine& machine) {
  const auto gpu = [](const PassedOver& one) { return is_gpu_target(one.target); };
  const auto& passed = choice.passed_over;
  if (is_gpu_target(choice.target) || std::none_of(passed.begin(), passed.end(), gpu)) return "";
  const std::string head = "running on the CPU, by the engine for target " + choice.target.name;
  const auto missing = std::find_if(passed.begin(), passed.end(), [](const PassedOver& one) {
    return one.reason.exit_class() == ExitClass::kMissingComponent;
  });
  if (missing != passed.end()) {
    const Gpu* const fitting = find_fitting(missing->target, machine);
    const std::string name =
        fitting == nullptr ? "" : "GPU " + std::to_string(fitting->ordinal) + " (" + fitting->name +
                                      ") would fit; ";
    return head + ": " + name + std::string(missing->reason.message());
  }
  const std::string problem = unusable_gpu(machine);
  return problem.empty() ? "" : head + ": an NVIDIA GPU is here, but " + problem;
}

}  // namespace trtmc
