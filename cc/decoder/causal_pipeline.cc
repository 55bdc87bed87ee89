#include "cc/decoder/causal_pipeline.h"

#include <string>
#include <utility>

#include "cc/decoder/text_generator.h"

namespace trtmc {

Result<std::unique_ptr<Engine>> load_component(const PipelineInputs& inputs,
                                               std::string_view name) {
  const BundleView& bundle = *inputs.bundle;
  const BundleComponent* component = bundle.header().find_component(name);
  if (component == nullptr) {
    return bad_input("load.missing_component", std::string(bundle.path()) +
                     ": strategy \"" + bundle.header().runtime_strategy +
                     "\" needs the component \"" + std::string(name) +
                     "\", which the bundle does not have");
  }
  const BundleEngine* engine = component->find_engine(inputs.target.name);
  if (engine == nullptr) {
    return bad_input("load.missing_component", std::string(bundle.path()) + ": component \"" +
                     std::string(name) + "\" has no engine for target \"" + inputs.target.name +
                     "\"");
  }
  TRTMC_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, bundle.section(engine->section));
  EngineBlob blob{bytes, engine->section, std::string(bundle.id()), inputs.bundle, {}};
  blob.target = inputs.target;
  if (!engine->weights.empty()) {
    if (inputs.weights == nullptr) {
      return internal_error("load.no_weight_source", "nobody serves the external weights of \"" +
                            engine->section + "\"");
    }
    TRTMC_ASSIGN_OR_RETURN(WeightSet set, inputs.weights->weights_of(*engine));
    blob.weights = std::move(set.tensors);
    using Both = std::pair<std::shared_ptr<const BundleView>, std::shared_ptr<const void>>;
    blob.keepalive = std::make_shared<Both>(inputs.bundle, std::move(set.keepalive));
  }
  return inputs.backend->load(blob, engine->contract, inputs.engine);
}

Result<std::unique_ptr<IPipeline>> CausalPipeline::create(const PipelineInputs& inputs,
                                                          std::unique_ptr<InferenceState> state) {
  const BundleHeader& header = inputs.bundle->header();
  const std::string path(inputs.bundle->path());
  if (header.task != kTask) {
    return bad_input("load.bad_header", path + ": strategy \"" + header.runtime_strategy +
                     "\" serves task \"" + std::string(kTask) + "\", the header says \"" +
                     header.task + "\"");
  }
  if (!header.text_generation) {
    return bad_input("load.bad_header",
                     path + ": the header has no \"text_generation\", which this task needs");
  }
  if (header.text_generation->vocab_size != state->decoder().vocab()) {
    return bad_input("load.bad_header", path + ": text_generation.vocab_size is " +
                     std::to_string(header.text_generation->vocab_size) +
                     ", but the engine's logits are " + std::to_string(state->decoder().vocab()) +
                     " wide");
  }
  return std::make_unique<CausalPipeline>(inputs, std::move(state));
}

CausalPipeline::CausalPipeline(const PipelineInputs& inputs, std::unique_ptr<InferenceState> state)
    : inputs_(inputs), info_(*inputs.bundle->header().text_generation), state_(std::move(state)) {
  info_.max_sequence = state_->decoder().ledger().capacity();
}

SamplingOptions CausalPipeline::default_sampling() const { return sampling_from(info_.sampling); }

Result<GenerationResult> CausalPipeline::generate(std::span<const std::int32_t> prompt,
                                                  const GenerationOptions& options,
                                                  const GenerationHooks& hooks) {
  return generate_text(state_->decoder(), text(), info_, prompt, options, hooks);
}

Result<LogitsView> CausalPipeline::logits(std::span<const std::int32_t> ids, std::int64_t chunk) {
  if (ids.empty()) {
    return bad_input("generate.empty_prompt", "there are no ids to evaluate");
  }
  state_->decoder().reset();
  return state_->decoder().append(ids, {.rows = LogitRows::kAll, .chunk = chunk});
}

}  // namespace trtmc
