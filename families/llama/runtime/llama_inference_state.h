// LlamaInferenceState: the engine and the decoder of one loaded Llama bundle.
//
// Thin over cc/decoder: Llama needs nothing between steps but its KV cache.
#pragma once

#include <memory>
#include <utility>

#include "cc/decoder/causal_pipeline.h"
#include "cc/decoder/decoder.h"
#include "families/llama/runtime/llama_kv_cache.h"
#include "trtmc/model.h"
#include "trtmc/status.h"

namespace trtmc::llama {

class LlamaInferenceState final : public InferenceState {
 public:
  // Loads the component "llm". Bundle and backend in `inputs` must outlive the state.
  static Result<std::unique_ptr<InferenceState>> create(const PipelineInputs& inputs) {
    TRTMC_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, load_component(inputs, "llm"));
    TRTMC_ASSIGN_OR_RETURN(const LlamaKvCache layout, LlamaKvCache::of(engine->contract()));
    TRTMC_ASSIGN_OR_RETURN(Decoder decoder,
                           Decoder::create(inputs.backend->allocator(), *engine,
                                           {.batch = 1, .max_sequence = inputs.max_sequence}));
    return std::make_unique<LlamaInferenceState>(std::move(engine), layout, std::move(decoder));
  }

  LlamaInferenceState(std::unique_ptr<Engine> engine, const LlamaKvCache& layout, Decoder decoder)
      : engine_(std::move(engine)), layout_(layout), decoder_(std::move(decoder)) {}

  Decoder& decoder() override { return decoder_; }
  const LlamaKvCache& layout() const { return layout_; }
  MemoryReport memory() const override {
    MemoryReport report = engine_->memory();
    report.per_session += decoder_.cache().bytes();
    return report;
  }

 private:
  std::unique_ptr<Engine> engine_;  // before decoder_, which uses it
  LlamaKvCache layout_;
  Decoder decoder_;
};

}  // namespace trtmc::llama
