// What an ELF library calls itself (DT_SONAME) and asks for (DT_NEEDED), read without loading it.
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

struct ElfNames {
  std::string soname;  // empty if it has none
  std::vector<std::string> needed;
};

// "dso.bad_elf" (kMissingComponent) if the bytes are not such a file.
Result<ElfNames> elf_names(std::span<const std::byte> file);

// The same for a path; "dso.unreadable" (kMissingComponent).
Result<ElfNames> elf_names_of(const std::string& path);

}  // namespace trtmc
