// What `trtmc inspect` shows: a bundle's header, sections, contracts and provenance.
//
// The JSON and the text are byte for byte those of python/trtmc/bundle/inspect.py.
#pragma once

#include <string>

#include "cc/bundle/bundle.h"

namespace trtmc {

// One line of canonical JSON:
// {"file_length":…,"header":{…},"header_length":…,"id":"…","version":1}
std::string describe_json(const Bundle& bundle);

// For people; ends with a newline.
std::string describe_text(const Bundle& bundle);

}  // namespace trtmc
