// LibraryFile: TensorRT's shared library, found at run time by its exact name and held against the
// version that an engine was compiled with.
//
// Plans run on the version that made them alone, so the target names the library:
// TensorRT-RTX 1.7.1 is libtensorrt_rtx.so.1 of version 1.7.1, TensorRT 11.4.0 is libnvinfer.so.11
// of version 11.4.0. It is looked for beside this backend, then in the system's library folders, by
// absolute path: neither an environment variable nor the current folder takes part. Knows no header
// of TensorRT.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trtmc/status.h"
#include "trtmc/target.h"

namespace trtmc::tensorrt {

struct LibraryVersion {
  int major = 0, minor = 0, patch = 0;
  bool operator==(const LibraryVersion&) const = default;
  std::string text() const;
};

// "1.7.1.116" → 1.7.1. "backend.bad_version" (kBadInput) for text that is no version.
Result<LibraryVersion> parse_version(const std::string& text);
// 10701 → 1.7.1, as getInferLibVersion() encodes it.
LibraryVersion decode_version(std::int32_t number);

// "libtensorrt_rtx.so.1", "libnvinfer.so.11".
std::string library_soname(const std::string& compiler, const LibraryVersion& version);

// Where to look, in order: the folder of this DSO, then the system's.
std::vector<std::string> library_folders();

// A plain value: the library stays loaded until the process ends.
class LibraryFile {
 public:
  // createInferRuntime_INTERNAL(logger, version); null on failure.
  using CreateRuntime = void* (*)(void*, std::int32_t);

  // "backend.missing_library" (kMissingComponent) names the file and the folders;
  // "backend.wrong_library" both versions.
  static Result<LibraryFile> open(const TargetInfo& target,
                                  const std::vector<std::string>& folders);

  const std::string& path() const { return path_; }
  const LibraryVersion& version() const { return version_; }
  CreateRuntime create_runtime() const { return create_; }

 private:
  std::string path_;
  LibraryVersion version_;
  CreateRuntime create_ = nullptr;
};

}  // namespace trtmc::tensorrt
