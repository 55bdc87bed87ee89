// Registry: which DSO serves a bundle, and the objects behind its one exported symbol.
//
// A bundle's target names the compiler, which names the backend DSO. Its runtime strategy names
// the model DSO: a strategy is called <dso>_<shape> ("llama_decoder_kv_cache"), and the library
// folder decides, longest name first. The DSO must then say that very strategy itself. Family and
// task of the bundle take no part.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cc/runtime/dso.h"
#include "trtmc/backend.h"
#include "trtmc/model.h"
#include "trtmc/status.h"
#include "trtmc/target.h"

namespace trtmc {

// "openvino" → "openvino"; both TensorRT compilers → "tensorrt"; another one names itself.
std::string backend_name_of(const TargetInfo& target);

// The longest of `libraries` that `strategy` begins with (followed by "_"); empty if none.
std::string model_name_of(std::string_view strategy, const std::vector<std::string>& libraries);

// Is this machine's system and processor the target's? "load.wrong_target" names both.
Status check_machine(const TargetInfo& target);

class Registry {
 public:
  explicit Registry(std::string library_folder) : folder_(std::move(library_folder)) {}

  // "load.missing_dso" (kMissingComponent).
  Result<std::unique_ptr<Backend>> backend(const TargetInfo& target);

  // "load.unknown_strategy" (kMissingComponent).
  Result<std::unique_ptr<IPipelinePlugin>> plugin(const std::string& strategy);

 private:
  DsoFolder folder_;
};

}  // namespace trtmc
