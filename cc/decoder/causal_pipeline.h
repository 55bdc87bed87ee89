// CausalPipeline: the IPipeline of every decoder family with task text_generation_causal.
//
// A family hands in its InferenceState and gets generation, chat, logits and reset for it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "cc/decoder/decoder.h"
#include "trtmc/model.h"
#include "trtmc/pipeline.h"
#include "trtmc/status.h"

namespace trtmc {

// What a family keeps between calls. Owned by the pipeline.
class InferenceState {
 public:
  virtual ~InferenceState() = default;
  virtual Decoder& decoder() = 0;
  virtual MemoryReport memory() const = 0;
};

// Loads the engine of the component `name` for inputs.target, with its external weights if it has
// any. "load.missing_component" (kBadInput).
Result<std::unique_ptr<Engine>> load_component(const PipelineInputs& inputs, std::string_view name);

class CausalPipeline final : public IPipeline, public TextGeneration {
 public:
  // "load.bad_header" (kBadInput) if the bundle lacks what the task needs.
  static Result<std::unique_ptr<IPipeline>> create(const PipelineInputs& inputs,
                                                   std::unique_ptr<InferenceState> state);

  // Of inputs that create() has checked.
  CausalPipeline(const PipelineInputs& inputs, std::unique_ptr<InferenceState> state);

  const BundleHeader& header() const override { return inputs_.bundle->header(); }
  std::string_view bundle_id() const override { return inputs_.bundle->id(); }
  const TargetInfo& target() const override { return inputs_.target; }
  MemoryReport memory() const override { return state_->memory(); }
  TextGeneration* text_generation() override { return this; }

  const TextGenerationInfo& info() const override { return info_; }
  const TextCodec* text() const override { return inputs_.text.get(); }
  SamplingOptions default_sampling() const override;
  Result<GenerationResult> generate(std::span<const std::int32_t> prompt,
                                    const GenerationOptions& options,
                                    const GenerationHooks& hooks) override;
  Result<LogitsView> logits(std::span<const std::int32_t> ids, std::int64_t chunk) override;
  void reset() override { state_->decoder().reset(); }

 private:
  PipelineInputs inputs_;  // before state_: it must outlive the engine and the cache
  TextGenerationInfo info_;
  std::unique_ptr<InferenceState> state_;
};

}  // namespace trtmc
