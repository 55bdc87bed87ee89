// Remembers which sections of which files this user has already hashed.
//
// Hashing hundreds of megabytes costs more than the first token does. A stamp says: this section,
// of the bundle with this id, in the file with this device, inode, size, mtime and ctime, had the
// right hash. Any write to the file changes its ctime, so a stamp of an altered file is never
// found. Stamps live in one folder that only the user can enter (mode 0700, owned by the user, no
// symbolic link); a folder that is anything else is ignored, and then everything is hashed.
// `VerifyMode::kFull` and `trtmc verify` do not look here.
//
// Losing or deleting the folder costs time and nothing else. Safe from several threads and
// processes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "cc/bundle/mapped_file.h"

namespace trtmc::bundle {

class VerifiedCache {
 public:
  // $XDG_CACHE_HOME/trtmc/verified, else $HOME/.cache/trtmc/verified, else no cache.
  static VerifiedCache for_user();
  // A cache in `folder`, which is made when needed; "" is a cache that forgets.
  explicit VerifiedCache(std::string folder) : folder_(std::move(folder)) {}

  bool contains(std::string_view bundle_id, std::string_view section,
                const FileIdentity& file) const;
  // Best effort: a stamp that cannot be written is no error. Files that changed a moment ago get
  // none, because a further change could hide within the resolution of the file system's clock.
  void add(std::string_view bundle_id, std::string_view section, const FileIdentity& file) const;

 private:
  std::string folder_;
};

}  // namespace trtmc::bundle
