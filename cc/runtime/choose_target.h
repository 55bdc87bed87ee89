// Which of a bundle's targets runs on the machine at hand.
//
// Tried in this order: engines for one exact GPU, engines for a range of GPUs (rtx_portable), all
// others (the CPU); the first whose backend is there and says yes. Knows no device: asking is the
// backend's part.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "trtmc/backend.h"
#include "trtmc/status.h"
#include "trtmc/target.h"

namespace trtmc {

// A target that comes before the chosen one, and why it does not run here.
struct PassedOver {
  TargetInfo target;
  Status reason;
};

struct TargetChoice {
  TargetInfo target;
  std::shared_ptr<Backend> backend;
  std::vector<PassedOver> passed_over;
};

// The backend of a target, after it agreed to run it here.
using OpenBackend = std::function<Result<std::shared_ptr<Backend>>(const TargetInfo&)>;

// `wanted`: a target's name, or "" for the best one. With one candidate its own error comes back.
// With several, "load.no_target" (kTargetMismatch) lists all with their reasons. A backend that
// fails otherwise than by kTargetMismatch or kMissingComponent ends the search: its machine is
// there but broken, and running elsewhere would hide that. "load.unknown_target" (kUsage).
Result<TargetChoice> choose_target(const std::vector<TargetInfo>& targets, std::string_view wanted,
                                   const OpenBackend& open);

}  // namespace trtmc
