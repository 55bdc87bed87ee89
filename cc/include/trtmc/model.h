// The model border: one DSO per family, libtrtmc_model_<family>.so, each with one plugin for
// exactly one runtime strategy.
//
// The host compares the ABI fingerprint, then the strategy, then asks the plugin for a pipeline.
// A model DSO brings its decoding loop and state; bundle, backend and text come from the host.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trtmc/abi.h"
#include "trtmc/backend.h"
#include "trtmc/bundle.h"
#include "trtmc/pipeline.h"
#include "trtmc/status.h"
#include "trtmc/text.h"
#include "trtmc/weights.h"

namespace trtmc {

// What a pipeline is made from. Shared ownership: the pipeline may keep whichever it needs, and
// they live until it is destroyed.
struct PipelineInputs {
  std::shared_ptr<const BundleView> bundle;
  TargetInfo target;  // the one of the bundle's targets whose engines run here
  std::shared_ptr<Backend> backend;
  std::shared_ptr<const TextCodec> text;  // null if the bundle has no tokenizer
  EngineOptions engine;
  std::int64_t max_sequence = 0;  // cache rows to use; 0: the contract's limit
  std::shared_ptr<IWeightSource> weights;  // of engines whose weights stand outside
};

// Thread-safe; stateless.
class IPipelinePlugin {
 public:
  virtual ~IPipelinePlugin() = default;
  virtual std::string_view runtime_strategy() const = 0;
  virtual Result<std::unique_ptr<IPipeline>> create(const PipelineInputs& inputs) const = 0;
};

}  // namespace trtmc

extern "C" {

// See TrtmcBackendV1 for the rules.
typedef struct TrtmcModelV1 {
  size_t struct_size;
  TrtmcAbi abi;
  const char* family;            // "llama"
  const char* runtime_strategy;  // "llama_decoder_kv_cache": the one strategy of this DSO
  bool (*create)(trtmc::IPipelinePlugin** out, trtmc::Status* error);
} TrtmcModelV1;

typedef const TrtmcModelV1* (*TrtmcModelV1Fn)(void);
}

// Name of the exported symbol: `extern "C" const TrtmcModelV1* trtmc_model_v1();`
#define TRTMC_MODEL_SYMBOL "trtmc_model_v1"
