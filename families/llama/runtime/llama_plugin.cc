// libtrtmc_model_llama.so: the runtime strategy llama_decoder_kv_cache.

#include <memory>
#include <string_view>
#include <utility>

#include "cc/decoder/causal_pipeline.h"
#include "families/llama/runtime/llama_inference_state.h"
#include "trtmc/export.h"

namespace trtmc::llama {

inline constexpr char kStrategy[] = "llama_decoder_kv_cache";

class LlamaPlugin final : public IPipelinePlugin {
 public:
  std::string_view runtime_strategy() const override { return kStrategy; }

  Result<std::unique_ptr<IPipeline>> create(const PipelineInputs& inputs) const override {
    TRTMC_ASSIGN_OR_RETURN(std::unique_ptr<InferenceState> state,
                           LlamaInferenceState::create(inputs));
    return CausalPipeline::create(inputs, std::move(state));
  }
};

}  // namespace trtmc::llama

TRTMC_EXPORT_MODEL("llama", trtmc::llama::kStrategy, trtmc::llama::LlamaPlugin)
