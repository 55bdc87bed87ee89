// Writes small bundle files for tests of the whole runtime. Real ones come from the builder; the
// format's own tests are cc/bundle's.
#pragma once

#include <map>
#include <string>

#include "cc/testing/table_backend.h"
#include "trtmc/bundle.h"
#include "trtmc/status.h"

namespace trtmc::testing {

struct BundleParts {
  std::string strategy = "toy_decoder";
  TargetInfo target = {"table", "table", "1", {}, {}, "linux", "x86_64"};
  std::vector<TargetInfo> more_targets;  // with the same engine
  std::string task = "text_generation_causal";
  TableModel model;
  TableLimits limits;
  std::vector<std::int32_t> eos;
  // Role ("tokenizer", "tokenizer_config", "chat_template") to contents.
  std::map<std::string, std::string> assets;
};

Status write_bundle_file(const std::string& path, const BundleParts& parts);

}  // namespace trtmc::testing
