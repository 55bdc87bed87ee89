#include "cc/backends/tensorrt/library_file.h"

#include <dlfcn.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>

#include "cc/gpu/tensorrt_folders.h"
#include "cc/runtime/dso.h"

namespace trtmc::tensorrt {
namespace {

std::string product_of(const std::string& compiler) {
  return compiler == "tensorrt_rtx" ? "TensorRT-RTX" : "TensorRT";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

template <class Function>
Result<Function> entry(void* handle, const std::string& path, const char* name) {
  auto function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (function != nullptr) return function;
  return missing_component("backend.wrong_library",
                           path + " is not TensorRT: it has no function " + name);
}

}  // namespace

std::string LibraryVersion::text() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

Result<LibraryVersion> parse_version(const std::string& text) {
  LibraryVersion version;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int* part : {&version.major, &version.minor, &version.patch}) {
    const auto [rest, error] = std::from_chars(at, end, *part);
    const bool last = part == &version.patch;
    if (error != std::errc() ||
        (last ? rest != end && *rest != '.' : rest == end || *rest != '.')) {
      return bad_input("backend.bad_version", "the target's compiler_version \"" + text +
                                                  "\" is not a TensorRT version such as 1.7.1.116");
    }
    at = rest + 1;
  }
  return version;
}

// From version 10 on there are two digits for each part; before, the middle ones had one.
LibraryVersion decode_version(std::int32_t number) {
  return {number / 10000, number / 100 % 100, number % 100};
}

std::string library_soname(const std::string& compiler, const LibraryVersion& version) {
  const std::string name = compiler == "tensorrt_rtx" ? "libtensorrt_rtx.so." : "libnvinfer.so.";
  return name + std::to_string(version.major);
}

std::vector<std::string> library_folders() {
  std::string own;
  Dl_info self;
  if (::dladdr(reinterpret_cast<void*>(&library_folders), &self) != 0 && self.dli_fname) {
    std::error_code error;
    const auto real = std::filesystem::canonical(self.dli_fname, error);
    if (!error) own = real.parent_path().string();
  }
  return tensorrt_folders(own);
}

Result<LibraryFile> LibraryFile::open(const TargetInfo& target,
                                      const std::vector<std::string>& folders) {
  TRTMC_ASSIGN_OR_RETURN(const LibraryVersion wanted, parse_version(target.compiler_version));
  const std::string product = product_of(target.compiler) + " " + wanted.text();
  const std::string soname = library_soname(target.compiler, wanted);
  std::string path;
  for (const std::string& folder : folders) {
    path = folder + "/" + soname;
    if (::access(path.c_str(), F_OK) == 0) break;
    path.clear();
  }
  if (path.empty()) {
    return missing_component(
        "backend.missing_library",
        "target " + target.name + " needs " + product + ": there is no " + soname + " in " +
            joined(folders) + "; install " + product +
            ", or put (a link to) the library into the first of these folders");
  }
  TRTMC_RETURN_IF_ERROR(check_owner(path));
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return missing_component("backend.missing_library",
                             path + " cannot be loaded: " + (reason ? reason : "no reason given"));
  }
  using GetVersion = std::int32_t (*)();
  TRTMC_ASSIGN_OR_RETURN(const GetVersion get_version,
                         entry<GetVersion>(handle, path, "getInferLibVersion"));
  LibraryFile file;
  file.path_ = path;
  file.version_ = decode_version(get_version());
  if (file.version_ != wanted) {
    return missing_component("backend.wrong_library",
                             path + " is version " + file.version_.text() +
                                 "; the engine was compiled by " + product +
                                 " and runs on that version alone; install it, or build the bundle "
                                 "with version " +
                                 file.version_.text());
  }
  TRTMC_ASSIGN_OR_RETURN(file.create_,
                         entry<CreateRuntime>(handle, path, "createInferRuntime_INTERNAL"));
  return file;
}

}  // namespace trtmc::tensorrt
