#include "cc/runtime/registry.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "cc/runtime/library_folder.h"

namespace trtmc {
namespace {

// Names come from a bundle and become part of a file name.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

// What would bring a backend that is not there.
std::string remedy_for(const std::string& backend) {
  if (backend != "tensorrt") return "install the whole runtime";
  return "this runtime was built without TensorRT; build it where TensorRT's headers are at hand "
         "(TENSORRT_HOME)";
}

// The struct that the exported function returns, once its fingerprint was found equal.
template <class Entry, class Function>
Result<const Entry*> checked_entry(DsoFolder& folder, const std::string& file, const char* symbol) {
  TRTMC_ASSIGN_OR_RETURN(void* const address, folder.symbol(file, symbol));
  const Entry* entry = reinterpret_cast<Function>(address)();
  const std::string path = folder.path() + "/" + file;
  if (entry == nullptr || entry->struct_size < sizeof(Entry)) {
    return missing_component("dso.abi_mismatch",
                             path + " is older than this program: its entry has " +
                                 std::to_string(entry == nullptr ? 0 : entry->struct_size) +
                                 " bytes, expected " + std::to_string(sizeof(Entry)) +
                                 "; install program and libraries from one release");
  }
  const Status abi = check_abi(entry->abi);
  if (!abi.is_ok()) return abi.with_context(path);
  return entry;
}

template <class Interface, class Entry>
Result<std::unique_ptr<Interface>> create(const Entry& entry, const std::string& file) {
  Interface* made = nullptr;
  Status error = internal_error("dso.no_reason", "it gave no reason");
  if (!entry.create(&made, &error) || made == nullptr) return error.with_context(file);
  return std::unique_ptr<Interface>(made);
}

}  // namespace

std::string backend_name_of(const TargetInfo& target) {
  const bool tensorrt = target.compiler == "tensorrt" || target.compiler == "tensorrt_rtx";
  return tensorrt ? "tensorrt" : target.compiler;
}

std::string model_name_of(std::string_view strategy, const std::vector<std::string>& libraries) {
  std::string best;
  for (const std::string& name : libraries) {
    if (strategy.starts_with(name + "_") && name.size() > best.size()) best = name;
  }
  return best;
}

Status check_machine(const TargetInfo& target) {
  utsname machine{};
  if (::uname(&machine) != 0) return Status::ok();
  std::string os = machine.sysname;
  std::transform(os.begin(), os.end(), os.begin(), [](unsigned char c) { return std::tolower(c); });
  if ((target.os.empty() || target.os == os) &&
      (target.arch.empty() || target.arch == machine.machine)) {
    return Status::ok();
  }
  return target_mismatch("load.wrong_target", "the bundle is for target " + target.name + " (" +
                         target.os + " on " + target.arch + "), this machine is " + os + " on " +
                         machine.machine + "; build the bundle for this machine's target");
}

Result<std::unique_ptr<Backend>> Registry::backend(const TargetInfo& target) {
  const std::string name = backend_name_of(target);
  if (!is_plain_name(name)) {
    return bad_input("load.bad_header", "the target's compiler \"" + target.compiler +
                     "\" is not a name of small letters, digits and _");
  }
  const auto present = list_libraries(folder_.path(), "backend");
  const std::string file = "libtrtmc_backend_" + name + ".so";
  if (std::find(present.begin(), present.end(), name) == present.end()) {
    return missing_component("load.missing_dso", "target " + target.name + " needs the backend " +
                             file + ", which is not in " + folder_.path() + " (backends there: " +
                             joined(present) + "); " + remedy_for(name));
  }
  using Entry = TrtmcBackendV1;
  TRTMC_ASSIGN_OR_RETURN(const Entry* const entry,
                         (checked_entry<Entry, TrtmcBackendV1Fn>(folder_, file,
                                                                 TRTMC_BACKEND_SYMBOL)));
  return create<Backend>(*entry, file);
}

Result<std::unique_ptr<IPipelinePlugin>> Registry::plugin(const std::string& strategy) {
  const auto present = list_libraries(folder_.path(), "model");
  const std::string name = model_name_of(strategy, present);
  if (!is_plain_name(strategy) || name.empty()) {
    return missing_component("load.unknown_strategy", "no model library serves the runtime "
                             "strategy \"" + strategy + "\": looked for libtrtmc_model_<beginning of it>.so "
                             "in " + folder_.path() + " (models there: " + joined(present) +
                             "); install the family's library");
  }
  using Entry = TrtmcModelV1;
  const std::string file = "libtrtmc_model_" + name + ".so";
  TRTMC_ASSIGN_OR_RETURN(
      const Entry* const entry,
      (checked_entry<Entry, TrtmcModelV1Fn>(folder_, file, TRTMC_MODEL_SYMBOL)));
  if (strategy != entry->runtime_strategy) {
    return missing_component("load.unknown_strategy", folder_.path() + "/" + file +
                             " serves the runtime strategy \"" + entry->runtime_strategy +
                             "\", the bundle asks for \"" + strategy + "\"");
  }
  return create<IPipelinePlugin>(*entry, file);
}

}  // namespace trtmc
