// A regular file mapped read-only into memory, and who it is on this machine.
//
// The map lives as long as the object. If another process cuts the file short while it is mapped,
// touching the lost pages ends this process: replace bundles by rename, never in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trtmc/status.h"

namespace trtmc::bundle {

// Changes whenever the content of the file may have changed.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;

  bool operator==(const FileIdentity&) const = default;
};

class MappedFile {
 public:
  static Result<std::unique_ptr<MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, identity_.size}; }
  // As it was when the file was opened.
  const FileIdentity& identity() const { return identity_; }
  // True if the file still is what it was when it was opened.
  bool unchanged() const;

 private:
  MappedFile(int descriptor, const std::byte* data, FileIdentity identity)
      : descriptor_(descriptor), data_(data), identity_(identity) {}

  int descriptor_;
  const std::byte* data_;
  FileIdentity identity_;
};

}  // namespace trtmc::bundle
