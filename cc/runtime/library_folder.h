// Where the runtime's DSOs are: one folder, found without the environment.
//
//   with a runtime root:   <root>/lib/trtmc, and nothing else
//   without:               <dir>/../lib/trtmc, then <dir>/lib/trtmc, where <dir> holds the file
//                          that this code was loaded from (the program or the Python module)
//
// The current folder, PATH, LD_LIBRARY_PATH and the bundle's folder take no part.
#pragma once

#include <string>
#include <vector>

#include "trtmc/status.h"

namespace trtmc {

// Absolute path of the file that holds this very code, as the kernel knows it.
// "load.no_self" (kInternal).
Result<std::string> own_file();

// The folder, absolute and without links. "load.no_library_folder" (kMissingComponent) names the
// places looked at.
Result<std::string> find_library_folder(const std::string& runtime_root);

// File names in `folder` of the form libtrtmc_<kind>_<name>.so, given as <name>, sorted.
std::vector<std::string> list_libraries(const std::string& folder, const std::string& kind);

}  // namespace trtmc
