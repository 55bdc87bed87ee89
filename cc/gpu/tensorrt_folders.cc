#include "cc/gpu/tensorrt_folders.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace trtmc {
namespace {

constexpr const char* kSystemFolders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/local/lib",
                                          "/usr/local/tensorrt/lib", "/usr/lib64", "/usr/lib"};
constexpr std::string_view kLibraries[] = {"libtensorrt_rtx.so.", "libnvinfer.so."};

// "libnvinfer.so.11", the name that is opened; neither "libnvinfer.so" nor "libnvinfer.so.11.4.0".
bool is_library(std::string_view name) {
  return std::any_of(std::begin(kLibraries), std::end(kLibraries), [&](std::string_view prefix) {
    const std::string_view rest = name.substr(std::min(prefix.size(), name.size()));
    return name.starts_with(prefix) && !rest.empty() &&
           rest.find_first_not_of("0123456789") == std::string_view::npos;
  });
}

}  // namespace

std::vector<std::string> tensorrt_folders(const std::string& own) {
  std::vector<std::string> folders;
  if (!own.empty()) folders.push_back(own);
  folders.insert(folders.end(), std::begin(kSystemFolders), std::end(kSystemFolders));
  return folders;
}

std::vector<std::string> find_tensorrt(const std::vector<std::string>& folders) {
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
      if (is_library(file.path().filename().native())) found.push_back(file.path().string());
    }
  }
  return found;
}

}  // namespace trtmc
