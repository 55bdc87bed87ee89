// Opening a DSO of the runtime so that no other file can take its place.
//
// A library is opened by absolute path out of the one library folder, after a look at who may
// change it. Its own dependencies that lie in the same folder are opened first, by absolute path
// too: the dynamic loader then finds them loaded and never searches LD_LIBRARY_PATH for them.
//
// An opened library stays loaded until the process ends: objects made by its code may live on.
#pragma once

#include <set>
#include <string>

#include "trtmc/status.h"

namespace trtmc {

// "load.unsafe_dso" (kMissingComponent): the file or its folder could be changed by users other
// than root, the caller and the owner of this program, or is no regular file.
Status check_owner(const std::string& path);

// One library folder and what was opened from it. Not thread-safe.
class DsoFolder {
 public:
  explicit DsoFolder(std::string folder) : folder_(std::move(folder)) {}

  const std::string& path() const { return folder_; }

  // The address of `symbol` in <folder>/<file>. "load.missing_dso", "load.unsafe_dso",
  // "dso.bad_elf", "dso.open_failed" with the loader's own sentence, "dso.no_symbol".
  Result<void*> symbol(const std::string& file, const std::string& symbol);

 private:
  Result<void*> open(const std::string& file, int flags);
  Status open_needed(const std::string& name);

  std::string folder_;
  std::set<std::string> opened_;
};

}  // namespace trtmc
