// Where things are in a bundle file: the preamble, the header and the sections.
//
// The numbers are on disk: do not change them. docs/bundle-format.md has the table;
// python/trtmc/bundle/layout.py is the twin. Knows no JSON and opens no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cc/bundle/sha256.h"
#include "trtmc/bundle.h"
#include "trtmc/status.h"

namespace trtmc::bundle {

inline constexpr std::string_view kMagic = "TRTMCBDL";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint64_t kAlignment = 4096;
inline constexpr std::uint64_t kMaxHeaderLength = 16u << 20;
inline constexpr std::uint64_t kPreambleSize = 64;

struct Preamble {
  std::uint64_t header_length = 0;
  Sha256 header_sha256{};
  std::uint64_t file_length = 0;

  std::uint64_t header_end() const { return kPreambleSize + header_length; }

  // Checks the preamble of a file; `file` may be shorter than the preamble.
  static Result<Preamble> decode(std::span<const std::byte> file);
};

// A run of zero bytes; `where` names it in messages.
struct Padding {
  std::string where;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// Header and sections must cover the file exactly, in order. Returns the paddings between them.
// Offsets and lengths are at most 2^63 - 1 each, so no sum overflows.
Result<std::vector<Padding>> check_extents(std::span<const BundleSection> sections,
                                           const Preamble& preamble);

}  // namespace trtmc::bundle
