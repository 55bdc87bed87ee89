#include "cc/runtime/choose_target.h"

#include <algorithm>
#include <string>
#include <utility>

namespace trtmc {
namespace {

int rank(const TargetInfo& target) {
  if (target.compute_capability) return 0;
  return target.cuda_version ? 1 : 2;
}

std::string names(const std::vector<TargetInfo>& targets) {
  std::string text;
  for (const TargetInfo& target : targets) text += (text.empty() ? "" : ", ") + target.name;
  return text;
}

}  // namespace

Result<TargetChoice> choose_target(const std::vector<TargetInfo>& targets, std::string_view wanted,
                                   const OpenBackend& open) {
  std::vector<TargetInfo> candidates = targets;
  if (!wanted.empty()) {
    std::erase_if(candidates, [&](const TargetInfo& target) { return target.name != wanted; });
    if (candidates.empty()) {
      return usage_error("load.unknown_target", "the bundle has no engines for target \"" +
                         std::string(wanted) + "\"; it has them for " + names(targets));
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const TargetInfo& a, const TargetInfo& b) { return rank(a) < rank(b); });
  std::vector<PassedOver> passed_over;
  for (const TargetInfo& target : candidates) {
    Result<std::shared_ptr<Backend>> backend = open(target);
    if (backend.is_ok()) return TargetChoice{target, std::move(backend).value(), passed_over};
    const Status& status = backend.status();
    const bool elsewhere = status.exit_class() == ExitClass::kTargetMismatch ||
                           status.exit_class() == ExitClass::kMissingComponent;
    if (candidates.size() == 1 || !elsewhere) return status;
    passed_over.push_back({target, status});
  }
  std::string reasons;
  for (const PassedOver& one : passed_over) {
    reasons += "\n  " + one.target.name + ": " + std::string(one.reason.message());
  }
  return target_mismatch("load.no_target", "the bundle holds engines for " + names(candidates) +
                         "; none of them runs here:" + reasons);
}

}  // namespace trtmc
