#include "cc/decoder/layered_decoder.h"

#include <utility>

namespace trtmc {

Result<std::unique_ptr<InferenceState>> LayeredDecoderState::create(const PipelineInputs& inputs) {
  TRTMC_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, load_component(inputs, "llm"));
  TRTMC_RETURN_IF_ERROR(LayeredCache::of(engine->contract()).status());
  TRTMC_ASSIGN_OR_RETURN(Decoder decoder,
                         Decoder::create(inputs.backend->allocator(), *engine,
                                         {.batch = 1, .max_sequence = inputs.max_sequence}));
  return std::make_unique<LayeredDecoderState>(std::move(engine), std::move(decoder));
}

LayeredDecoderState::LayeredDecoderState(std::unique_ptr<Engine> engine, Decoder decoder)
    : engine_(std::move(engine)), decoder_(std::move(decoder)) {}

MemoryReport LayeredDecoderState::memory() const {
  MemoryReport report = engine_->memory();
  report.per_session += decoder_.cache().bytes();
  return report;
}

Result<std::unique_ptr<IPipeline>> LayeredDecoderPlugin::create(
    const PipelineInputs& inputs) const {
  TRTMC_ASSIGN_OR_RETURN(std::unique_ptr<InferenceState> state,
                         LayeredDecoderState::create(inputs));
  return CausalPipeline::create(inputs, std::move(state));
}

}  // namespace trtmc
