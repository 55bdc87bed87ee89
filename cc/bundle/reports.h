// Build reports of a bundle's engines, as `trtmc inspect --engine` shows them.
//
// Each engine has a section "reports/<component>.json", or "reports/<target>/<component>.json" in
// a bundle for several targets: an object of facts. The JSON and the text are byte for byte those
// of python/trtmc/bundle/reports.py. No fact's meaning is known here.
#pragma once

#include <string>

#include "cc/bundle/bundle.h"

namespace trtmc {

// One line of canonical JSON: {"reports":{"llm":{…}}}. "report.missing" if the bundle has none,
// "report.schema" if one is not a JSON object.
Result<std::string> reports_json(const Bundle& bundle);

// For people: a heading for each engine, a line for each fact; ends with a newline.
Result<std::string> reports_text(const Bundle& bundle);

}  // namespace trtmc
