#include "trtmc/load.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "cc/bundle/bundle.h"
#include "cc/gpu/machine.h"
#include "cc/runtime/choose_target.h"
#include "cc/runtime/external_weights.h"
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
  if (options.device < 0) {
    return usage_error("load.bad_option", "device must be 0 or more, found " +
                       std::to_string(options.device));
  }
  return Status::ok();
}

Status check_kind(const BundleHeader& header) {
  if (header.kind == "native") return Status::ok();
  return unsupported("load.unsupported_kind", "the bundle's kind is \"" + header.kind +
                     "\"; this runtime runs native bundles only");
}

OpenBackend opener(Registry& registry, int device) {
  return [&registry, device](const TargetInfo& target) -> Result<std::shared_ptr<Backend>> {
    TRTMC_RETURN_IF_ERROR(check_machine(target));
    TRTMC_ASSIGN_OR_RETURN(std::shared_ptr<Backend> backend, registry.backend(target, device));
    TRTMC_RETURN_IF_ERROR(backend->check_target(target));
    return backend;
  };
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
  auto choice = choose_target(header.targets, options.target, opener(registry, options.device));
  if (!choice.is_ok()) return with_path(choice.status());
  if (options.device != 0 && !is_gpu_target(choice->target)) {
    return with_path(usage_error("load.bad_option", "GPU " + std::to_string(options.device) +
                                 " was asked for, but the engine for target " +
                                 choice->target.name + " runs on the CPU; leave --device out"));
  }
  inputs.target = choice->target;
  inputs.backend = choice->backend;

  inputs.engine.threads = options.threads;
  inputs.engine.compute = options.compute;
  inputs.engine.device = options.device;
  inputs.engine.cache_dir = private_cache_folder();
  auto pipeline = (*plugin)->create(inputs);
  if (!pipeline.is_ok()) return with_path(pipeline.status());
  return pipeline;
}

}  // namespace trtmc
