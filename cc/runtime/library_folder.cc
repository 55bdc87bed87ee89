#include "cc/runtime/library_folder.h"

#include <dirent.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

namespace trtmc {
namespace {

namespace fs = std::filesystem;

constexpr char kLibraryFolder[] = "lib/trtmc";

Result<std::string> canonical_folder(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error || !fs::is_directory(real, error) || error) {
    return missing_component("load.no_library_folder", "no folder " + path.string());
  }
  return real.string();
}

}  // namespace

// The map of this process tells which file an address comes from, whatever argv[0], a relative
// module path or a later chdir say.
Result<std::string> own_file() {
  const auto here = reinterpret_cast<std::uintptr_t>(&find_library_folder);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) continue;
    const std::size_t slash = line.find('/');
    if (here >= begin && here < end && slash != std::string::npos) return line.substr(slash);
  }
  return internal_error("load.no_self", "/proc/self/maps does not say where this program lies; "
                        "give --runtime-root");
}

Result<std::string> find_library_folder(const std::string& runtime_root) {
  if (!runtime_root.empty()) {
    auto folder = canonical_folder(fs::path(runtime_root) / kLibraryFolder);
    return folder.is_ok() ? folder : folder.status().with_context("--runtime-root " + runtime_root);
  }
  TRTMC_ASSIGN_OR_RETURN(const std::string self, own_file());
  const fs::path dir = fs::path(self).parent_path();
  for (const fs::path& place : {dir / ".." / kLibraryFolder, dir / kLibraryFolder}) {
    auto folder = canonical_folder(place);
    if (folder.is_ok()) return folder;
  }
  return missing_component("load.no_library_folder",
                           "the runtime's libraries are not beside " + self + ": neither " +
                               (dir.parent_path() / kLibraryFolder).string() + " nor " +
                               (dir / kLibraryFolder).string() +
                               " is a folder; give --runtime-root, or install the whole runtime");
}

std::vector<std::string> list_libraries(const std::string& folder, const std::string& kind) {
  std::vector<std::string> names;
  const std::string prefix = "libtrtmc_" + kind + "_", suffix = ".so";
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), ::closedir);
  while (dir != nullptr) {
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name.size() > prefix.size() + suffix.size() && name.starts_with(prefix) &&
        name.ends_with(suffix)) {
      names.push_back(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace trtmc
