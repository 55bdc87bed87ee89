#include "trtmc/load.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "cc/bundle/bundle.h"
#include "cc/gpu/machine.h"
#include "cc/runtime/choose_target.h"
#include "cc/runtime/external_weights.h"
#include "cc/runtime/gpu_unused.h"
#include "cc/runtime/library_folder.h"
#include "cc/runtime/registry.h"
#include "cc/runtime/text_codec.h"

namespace trtmc {
namespace {

// A private folder of this user for what backends compile, keyed by themselves; "" if there is
// none that only this user can change.
std::string private_cache_folder() {
  namespace fs = std::filesystem;
  const char* home = std::getenv("HOME");
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  fs::path folder;
  if (xdg != nullptr && xdg[0] == '/') {
    folder = xdg;
  } else if (home != nullptr && home[0] == '/') {
    folder = fs::path(home) / ".cache";
  } else {
    return {};
  }
  folder /= "trtmc/engines";
  std::error_code error;
  fs::create_directories(folder, error);
  struct stat info;
  if (error || ::stat(folder.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return {};
  if ((info.st_mode & 077) != 0 && ::chmod(folder.c_str(), 0700) != 0) return {};
  return folder.string();
}

constexpr int kMaxThreads = 1024;  // more only wait for one another

Status check_options(const LoadOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return usage_error("load.bad_option", "threads must be 0 (automatic) to " +
                       std::to_string(kMaxThreads) + ", found " + std::to_string(options.threads));
  }
  if (options.max_sequence < 0) {
    return usage_error("load.bad_option", "max_sequence must be 0 (the bundle's) or more, found " +
                       std::to_string(options.max_sequence));
  }
  if (options.device && *options.device < 0) {
    return usage_error("load.bad_option", "device must be 0 or more, found " +
                       std::to_string(*options.device));
  }
  return Status::ok();
}

Status check_kind(const BundleHeader& header) {
  if (header.kind == "native") return Status::ok();
  return unsupported("load.unsupported_kind", "the bundle's kind is \"" + header.kind +
                     "\"; this runtime runs native bundles only");
}

// Asks the driver once, and only for a bundle that has an engine for a GPU.
GpuMachine look_for_gpus(const std::vector<TargetInfo>& targets) {
  const bool any = std::any_of(targets.begin(), targets.end(), is_gpu_target);
  return any ? find_gpus() : GpuMachine{};
}

// The targets among which to choose: all, or those for GPUs where a GPU was asked for by number.
Result<std::vector<TargetInfo>> candidates(const BundleHeader& header, const LoadOptions& options) {
  std::vector<TargetInfo> targets = header.targets;
  if (!options.device) return targets;
  std::string others;
  std::erase_if(targets, [&](const TargetInfo& target) {
    const bool cpu = !is_gpu_target(target);
    if (cpu && (options.target.empty() || options.target == target.name)) {
      others += (others.empty() ? "" : ", ") + target.name;
    }
    return cpu;
  });
  if (others.empty() || (!targets.empty() && options.target.empty())) return targets;
  return usage_error("load.bad_option", "GPU " + std::to_string(*options.device) +
                     " was asked for, but the engine for target " + others +
                     " runs on the CPU; leave --device out");
}

// GPU targets are held against the driver's GPUs first, whether or not their backend is installed.
OpenBackend opener(Registry& registry, const GpuMachine& machine, std::optional<int> device) {
  return [&, device](const TargetInfo& target) -> Result<std::shared_ptr<Backend>> {
    TRTMC_RETURN_IF_ERROR(check_machine(target));
    if (is_gpu_target(target)) {
      TRTMC_RETURN_IF_ERROR(check_gpu_target(target, machine, device));
    }
    TRTMC_ASSIGN_OR_RETURN(std::shared_ptr<Backend> backend, registry.backend(target));
    TRTMC_RETURN_IF_ERROR(backend->check_target(target));
    return backend;
  };
}

void warn(const LoadOptions& options, const TargetChoice& choice, const GpuMachine& machine) {
  const std::string message = gpu_unused(choice, machine);
  if (options.on_warning && !message.empty()) options.on_warning({"load.gpu_unused", message});
}

}  // namespace

Result<std::unique_ptr<IPipeline>> load(const std::string& path, const LoadOptions& options) {
  TRTMC_RETURN_IF_ERROR(check_options(options));
  const VerifyMode mode = options.verify == Verify::kFull ? VerifyMode::kFull : VerifyMode::kLazy;
  TRTMC_ASSIGN_OR_RETURN(std::shared_ptr<const BundleView> bundle, Bundle::open(path, mode));
  const BundleHeader& header = bundle->header();

  // Errors about the file itself name it already.
  const auto with_path = [&](const Status& status) {
    return status.message().starts_with(path) ? status : status.with_context(path);
  };
  if (Status s = check_kind(header); !s.is_ok()) return with_path(s);

  PipelineInputs inputs;
  inputs.bundle = bundle;
  inputs.text = make_text_codec(bundle);  // reads on while the engine loads
  inputs.max_sequence = options.max_sequence;
  inputs.weights = std::make_shared<ExternalWeightManager>(bundle);

  TRTMC_ASSIGN_OR_RETURN(const std::string folder, find_library_folder(options.runtime_root));
  Registry registry(folder);
  auto plugin = registry.plugin(header.runtime_strategy);
  if (!plugin.is_ok()) return with_path(plugin.status());
  auto targets = candidates(header, options);
  if (!targets.is_ok()) return with_path(targets.status());
  const GpuMachine machine = look_for_gpus(*targets);
  auto choice = choose_target(*targets, options.target, opener(registry, machine, options.device));
  if (!choice.is_ok()) return with_path(choice.status());
  warn(options, *choice, machine);
  inputs.target = choice->target;
  inputs.backend = choice->backend;

  inputs.engine.threads = options.threads;
  inputs.engine.compute = options.compute;
  if (is_gpu_target(choice->target)) {
    const Gpu* const fitting = find_fitting(choice->target, machine);
    inputs.engine.device = options.device.value_or(fitting == nullptr ? 0 : fitting->ordinal);
  }
  inputs.engine.cache_dir = private_cache_folder();
  auto pipeline = (*plugin)->create(inputs);
  if (!pipeline.is_ok()) return with_path(pipeline.status());
  return pipeline;
}

}  // namespace trtmc
