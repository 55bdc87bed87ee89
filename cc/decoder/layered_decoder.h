// LayeredDecoderPlugin: the runtime plugin of a decoder that needs nothing between steps but the
// cache of layers that are alike (layered_cache.h).
//
// A family's DSO derives from it to name its strategy; a family that keeps more than that cache
// writes an InferenceState of its own and hands it to CausalPipeline.
//
//   class LlamaPlugin final : public LayeredDecoderPlugin {
//    public:
//     LlamaPlugin() : LayeredDecoderPlugin("llama_decoder_kv_cache") {}
//   };
#pragma once

#include <memory>
#include <string_view>

#include "cc/decoder/causal_pipeline.h"
#include "cc/decoder/decoder.h"
#include "cc/decoder/layered_cache.h"
#include "trtmc/model.h"
#include "trtmc/status.h"

namespace trtmc {

// The engine and the decoder of one loaded bundle.
class LayeredDecoderState final : public InferenceState {
 public:
  // Loads the component "llm". Bundle and backend in `inputs` must outlive the state.
  // "decoder.bad_cache" (kBadInput) if its contract has no layered cache.
  static Result<std::unique_ptr<InferenceState>> create(const PipelineInputs& inputs);

  LayeredDecoderState(std::unique_ptr<Engine> engine, Decoder decoder);

  Decoder& decoder() override { return decoder_; }
  MemoryReport memory() const override;

 private:
  std::unique_ptr<Engine> engine_;  // before decoder_, which uses it
  Decoder decoder_;
};

class LayeredDecoderPlugin : public IPipelinePlugin {
 public:
  // `runtime_strategy` must be a literal: it is kept as a view.
  explicit LayeredDecoderPlugin(std::string_view runtime_strategy)
      : runtime_strategy_(runtime_strategy) {}

  std::string_view runtime_strategy() const final { return runtime_strategy_; }
  Result<std::unique_ptr<IPipeline>> create(const PipelineInputs& inputs) const final;

 private:
  std::string_view runtime_strategy_;
};

}  // namespace trtmc
