// `trtmc machine`: what this machine and this runtime have, for whoever asks why a bundle does not
// run here. Looks, and opens nothing but the driver.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cc/cli/answer.h"
#include "cc/cli/commands.h"
#include "cc/gpu/machine.h"
#include "cc/gpu/tensorrt_folders.h"
#include "cc/runtime/library_folder.h"

namespace trtmc::cli {
namespace {

struct MachineOptions {
  std::string runtime_root;
  bool json = false;
};

struct Findings {
  GpuMachine machine;
  std::string folder;
  std::vector<std::string> backends, models, tensorrt;
};

// What a GPU bundle would miss here, each with what to do.
std::vector<std::string> missing(const Findings& found) {
  std::vector<std::string> list;
  const std::string unusable = unusable_gpu(found.machine);
  if (!unusable.empty()) list.push_back("an NVIDIA GPU is here, but " + unusable);
  const auto& backends = found.backends;
  if (std::find(backends.begin(), backends.end(), "tensorrt") == backends.end()) {
    list.push_back("no GPU backend: this runtime was built without TensorRT's headers "
                   "(TENSORRT_HOME)");
  }
  if (found.tensorrt.empty()) {
    list.push_back("no TensorRT library: install TensorRT-RTX, or put (a link to) "
                   "libtensorrt_rtx.so.1 into " + found.folder);
  }
  return list;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "none" : text;
}

nlohmann::json json_of(const GpuMachine& machine) {
  nlohmann::json gpus = nlohmann::json::array();
  for (const Gpu& gpu : machine.gpus) {
    gpus.push_back({{"ordinal", gpu.ordinal},
                    {"name", gpu.name},
                    {"compute_capability", gpu.capability()},
                    {"memory_bytes", gpu.memory_bytes}});
  }
  return gpus;
}

void print(const Findings& found) {
  const GpuMachine& machine = found.machine;
  std::printf("driver     %s\n", machine.driver ? machine.driver_version.c_str() : "none found");
  for (const Gpu& gpu : machine.gpus) {
    std::printf("GPU %-6d %s, compute capability %s, %.1f GB\n", gpu.ordinal, gpu.name.c_str(),
                gpu.capability().c_str(), static_cast<double>(gpu.memory_bytes) / 1e9);
  }
  std::printf("libraries  %s\n", found.folder.c_str());
  std::printf("backends   %s\n", joined(found.backends).c_str());
  std::printf("models     %s\n", joined(found.models).c_str());
  std::printf("TensorRT   %s\n", joined(found.tensorrt).c_str());
  for (const std::string& one : missing(found)) std::printf("missing    %s\n", one.c_str());
}

Status describe(const MachineOptions& o) {
  Findings found;
  TRTMC_ASSIGN_OR_RETURN(found.folder, find_library_folder(o.runtime_root));
  found.backends = list_libraries(found.folder, "backend");
  found.models = list_libraries(found.folder, "model");
  found.tensorrt = find_tensorrt(tensorrt_folders(found.folder));
  found.machine = find_gpus();
  if (!o.json) {
    print(found);
    return Status::ok();
  }
  const GpuMachine& machine = found.machine;
  print_json({{"driver", machine.driver ? nlohmann::json(machine.driver_version) : nullptr},
              {"problem", machine.problem},
              {"gpus", json_of(machine)},
              {"libraries", found.folder},
              {"backends", found.backends},
              {"models", found.models},
              {"tensorrt", found.tensorrt},
              {"missing", missing(found)}});
  return Status::ok();
}

}  // namespace

Command add_machine(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("machine", "show the GPUs of this machine and what can run here");
  auto o = std::make_shared<MachineOptions>();
  sub->add_option("--runtime-root", o->runtime_root,
                  "folder that holds lib/trtmc (default: beside this program)");
  sub->add_flag("--json", o->json, "print one JSON object");
  return {sub, [o] { return describe(*o); }, [o] { return o->json; }};
}

}  // namespace trtmc::cli
