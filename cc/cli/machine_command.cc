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
#include "cc/runtime/library_folder.h"

namespace trtmc::cli {
namespace {

struct MachineOptions {
  std::string runtime_root;
  bool json = false;
};

// Why there is no GPU backend, or "".
std::string missing_backend(const std::vector<std::string>& backends) {
  if (std::find(backends.begin(), backends.end(), "tensorrt") != backends.end()) return "";
  return "no GPU backend: this runtime was built without TensorRT's headers (TENSORRT_HOME)";
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

void print(const GpuMachine& machine, const std::string& folder,
           const std::vector<std::string>& backends, const std::vector<std::string>& models) {
  std::printf("driver     %s\n", machine.driver ? machine.driver_version.c_str() : "none found");
  if (!machine.problem.empty()) std::printf("           %s\n", machine.problem.c_str());
  for (const Gpu& gpu : machine.gpus) {
    std::printf("GPU %-6d %s, compute capability %s, %.1f GB\n", gpu.ordinal, gpu.name.c_str(),
                gpu.capability().c_str(), static_cast<double>(gpu.memory_bytes) / 1e9);
  }
  std::printf("libraries  %s\n", folder.c_str());
  std::printf("backends   %s\n", joined(backends).c_str());
  std::printf("models     %s\n", joined(models).c_str());
  const std::string missing = missing_backend(backends);
  if (!missing.empty()) std::printf("           %s\n", missing.c_str());
}

Status describe(const MachineOptions& o) {
  TRTMC_ASSIGN_OR_RETURN(const std::string folder, find_library_folder(o.runtime_root));
  const auto backends = list_libraries(folder, "backend"), models = list_libraries(folder, "model");
  const GpuMachine machine = find_gpus();
  if (!o.json) {
    print(machine, folder, backends, models);
    return Status::ok();
  }
  print_json({{"driver", machine.driver ? nlohmann::json(machine.driver_version) : nullptr},
              {"problem", machine.problem},
              {"gpus", json_of(machine)},
              {"libraries", folder},
              {"backends", backends},
              {"models", models},
              {"missing", missing_backend(backends)}});
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
