// The bundle header, version 1: from its stored bytes to trtmc::BundleHeader.
//
// Every record and every relation between records is checked; offsets are checked by layout.h.
// The order of the checks is that of python/trtmc/bundle/header.py, so that both report the same
// rule for a header with several faults.
#pragma once

#include <string_view>

#include "trtmc/bundle.h"
#include "trtmc/status.h"

namespace trtmc::bundle {

Result<BundleHeader> decode_header(std::string_view stored);

// Relations between records of an otherwise read header. `files` are the names of
// provenance.checkpoint.files.
Status check_relations(const BundleHeader& header, const std::vector<std::string>& files);

// Parts of it, in weights_check.cc: names, bindings and steps; then, once the sections are known
// to exist, that the stored tensors have the one layout that their sizes allow.
Status check_weights(const BundleHeader& header);
Status check_weights_layout(const BundleHeader& header);

// Slash-separated parts of letters, digits, '_', '-', '.', none starting with a dot; 255 bytes.
bool is_section_name(std::string_view name);

}  // namespace trtmc::bundle
