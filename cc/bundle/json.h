// Canonical JSON: the one spelling of a JSON value that a bundle header may have.
//
// The spelling is defined in docs/bundle-format.md; python/trtmc/bundle/canonical.py is the twin,
// with the same order of checks: depth, syntax, duplicate keys, spelling. Knows nothing about the
// header's meaning.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "trtmc/status.h"

namespace trtmc::bundle {

// Deepest nesting of arrays and objects; the schema needs eight.
inline constexpr int kMaxDepth = 32;

// The canonical bytes of `value`, which holds finite numbers and UTF-8 strings.
std::string encode_canonical(const nlohmann::json& value);

// `text` as a JSON string, quotes included.
std::string quote(std::string_view text);

// The value whose canonical bytes are `data`; another spelling is an error that says which rule.
Result<nlohmann::json> decode_canonical(std::string_view data);

}  // namespace trtmc::bundle
