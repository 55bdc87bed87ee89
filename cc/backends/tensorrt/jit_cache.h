// JitCache: what TensorRT-RTX compiled for this GPU at run time, kept per user from one run to the
// next.
//
// A cache never makes an error: a file that is missing, cut, changed or of another key counts as
// none, and one that cannot be written is left. The folder is private to the user (LoadOptions).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace trtmc::tensorrt {

// All of it decides whether compiled code may be used again.
struct JitKey {
  std::string bundle;   // id
  std::string section;  // the engine's
  std::string gpu;      // name and compute capability
  std::string driver;
  std::string library;  // version
};

class JitCache {
 public:
  // `folder` "": keeps nothing.
  JitCache(const std::string& folder, const JitKey& key);

  std::vector<std::byte> read() const;
  // Through a temporary name; skipped for no bytes or what is there already.
  void write(std::span<const std::byte> bytes) const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;  // "" if nothing is kept
  std::string head_;  // what the file must begin with
};

}  // namespace trtmc::tensorrt
