// libtrtmc_model_qwen.so: the runtime strategy qwen_decoder_kv_cache.

#include <memory>
#include <string_view>
#include <utility>

#include "cc/decoder/causal_pipeline.h"
#include "families/qwen/runtime/qwen_inference_state.h"
#include "trtmc/export.h"

namespace trtmc::qwen {

inline constexpr char kStrategy[] = "qwen_decoder_kv_cache";

class QwenPlugin final : public IPipelinePlugin {
 public:
  std::string_view runtime_strategy() const override { return kStrategy; }

  Result<std::unique_ptr<IPipeline>> create(const PipelineInputs& inputs) const override {
    TRTMC_ASSIGN_OR_RETURN(std::unique_ptr<InferenceState> state,
                           QwenInferenceState::create(inputs));
    return CausalPipeline::create(inputs, std::move(state));
  }
};

}  // namespace trtmc::qwen

TRTMC_EXPORT_MODEL("qwen", trtmc::qwen::kStrategy, trtmc::qwen::QwenPlugin)
