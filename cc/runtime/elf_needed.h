// The libraries that an ELF file asks for (DT_NEEDED), read from the file without loading it.
//
// Only for 64-bit little-endian files, which is what the runtime's own libraries are. Every offset
// is checked before it is followed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trtmc/status.h"

namespace trtmc {

// "dso.bad_elf" (kMissingComponent) if the bytes are not such a file.
Result<std::vector<std::string>> elf_needed(std::span<const std::byte> file);

// The same for a path; "dso.unreadable" (kMissingComponent).
Result<std::vector<std::string>> elf_needed_of(const std::string& path);

}  // namespace trtmc
