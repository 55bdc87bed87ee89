// TargetInfo: the machine that a bundle was compiled for, as written in its header.
//
// Plain data; whether this machine is that target is a backend's judgement
// (Backend::check_target).
#pragma once

#include <optional>
#include <string>

namespace trtmc {

struct TargetInfo {
  std::string name;              // "cpu_x86_64", "sm_89", …
  std::string compiler;          // "openvino", "tensorrt_rtx", "tensorrt"
  std::string compiler_version;  // "2026.4.1"
  std::optional<std::string> cuda_version;
  std::optional<std::string> compute_capability;  // "8.9"
  std::string os;    // "linux"
  std::string arch;  // "x86_64"
};

}  // namespace trtmc
