// Every way in which a bundle file can be wrong: slug and exit class, one line per rule.
//
// The twin of python/trtmc/bundle/rules.py, where the meanings stand; a test compares the two
// tables line by line. Slugs are never reused or renamed.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "trtmc/status.h"

namespace trtmc::bundle {

struct Rule {
  std::string_view slug;
  ExitClass exit_class;
};

// clang-format off
inline constexpr Rule kNotFound{"bundle.not_found", ExitClass::kBadInput};
inline constexpr Rule kBadMagic{"bundle.bad_magic", ExitClass::kBadInput};
inline constexpr Rule kTruncated{"bundle.truncated", ExitClass::kBadInput};
inline constexpr Rule kUnsupportedVersion{"bundle.unsupported_version", ExitClass::kUnsupported};
inline constexpr Rule kUnknownFlags{"bundle.unknown_flags", ExitClass::kUnsupported};
inline constexpr Rule kHeaderTooLong{"bundle.header_too_long", ExitClass::kBadInput};
inline constexpr Rule kTrailingBytes{"bundle.trailing_bytes", ExitClass::kBadInput};
inline constexpr Rule kHeaderOutOfBounds{"bundle.header_out_of_bounds", ExitClass::kBadInput};
inline constexpr Rule kHeaderSha256{"bundle.header_sha256", ExitClass::kBadInput};
inline constexpr Rule kHeaderJson{"bundle.header_json", ExitClass::kBadInput};
inline constexpr Rule kHeaderDepth{"bundle.header_depth", ExitClass::kBadInput};
inline constexpr Rule kDuplicateKey{"bundle.duplicate_key", ExitClass::kBadInput};
inline constexpr Rule kHeaderNotCanonical{"bundle.header_not_canonical", ExitClass::kBadInput};
inline constexpr Rule kUnknownKey{"bundle.unknown_key", ExitClass::kBadInput};
inline constexpr Rule kMissingKey{"bundle.missing_key", ExitClass::kBadInput};
inline constexpr Rule kWrongType{"bundle.wrong_type", ExitClass::kBadInput};
inline constexpr Rule kBadValue{"bundle.bad_value", ExitClass::kBadInput};
inline constexpr Rule kInconsistent{"bundle.inconsistent", ExitClass::kBadInput};
inline constexpr Rule kSectionName{"bundle.section_name", ExitClass::kBadInput};
inline constexpr Rule kDuplicateSection{"bundle.duplicate_section", ExitClass::kBadInput};
inline constexpr Rule kSectionMisaligned{"bundle.section_misaligned", ExitClass::kBadInput};
inline constexpr Rule kSectionOverlap{"bundle.section_overlap", ExitClass::kBadInput};
inline constexpr Rule kSectionGap{"bundle.section_gap", ExitClass::kBadInput};
inline constexpr Rule kSectionOutOfBounds{"bundle.section_out_of_bounds", ExitClass::kBadInput};
inline constexpr Rule kMissingSection{"bundle.missing_section", ExitClass::kBadInput};
inline constexpr Rule kMissingWeight{"bundle.missing_weight", ExitClass::kBadInput};
inline constexpr Rule kWeightSteps{"bundle.weight_steps", ExitClass::kBadInput};
inline constexpr Rule kWeightsLayout{"bundle.weights_layout", ExitClass::kBadInput};
inline constexpr Rule kNonzeroPadding{"bundle.nonzero_padding", ExitClass::kBadInput};
inline constexpr Rule kSectionSha256{"bundle.section_sha256", ExitClass::kBadInput};
inline constexpr Rule kNoSuchSection{"bundle.no_such_section", ExitClass::kBadInput};
// clang-format on

inline Status fault(const Rule& rule, std::string message) {
  return Status(rule.exit_class, std::string(rule.slug), std::move(message));
}

}  // namespace trtmc::bundle
