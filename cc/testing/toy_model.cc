// A model DSO for tests of the loader: the plain decoding pipeline under the strategy named by
// TOY_STRATEGY. With TOY_WRONG_ABI its fingerprint is one of another release; with TOY_OTHER_SYMBOL
// it exports something else; with TOY_CONSTRUCTOR loading it prints that word.

#include <cstdio>
#include <memory>
#include <utility>

#include "cc/decoder/causal_pipeline.h"
#include "trtmc/export.h"

#ifndef TOY_STRATEGY
#define TOY_STRATEGY "toy_decoder"
#endif

namespace {

using namespace trtmc;

class ToyState final : public InferenceState {
 public:
  ToyState(std::unique_ptr<Engine> engine, Decoder decoder)
      : engine_(std::move(engine)), decoder_(std::move(decoder)) {}
  Decoder& decoder() override { return decoder_; }
  MemoryReport memory() const override { return engine_->memory(); }

 private:
  std::unique_ptr<Engine> engine_;
  Decoder decoder_;
};

class ToyPlugin final : public IPipelinePlugin {
 public:
  std::string_view runtime_strategy() const override { return TOY_STRATEGY; }
  Result<std::unique_ptr<IPipeline>> create(const PipelineInputs& inputs) const override {
    TRTMC_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, load_component(inputs, "llm"));
    TRTMC_ASSIGN_OR_RETURN(Decoder decoder,
                           Decoder::create(inputs.backend->allocator(), *engine,
                                           {.batch = 1, .max_sequence = inputs.max_sequence}));
    return CausalPipeline::create(
        inputs, std::make_unique<ToyState>(std::move(engine), std::move(decoder)));
  }
};

}  // namespace

#ifdef TOY_CONSTRUCTOR
namespace {
__attribute__((constructor)) void say() { std::fputs(TOY_CONSTRUCTOR "\n", stderr); }
}  // namespace
#endif

#if defined(TOY_OTHER_SYMBOL)
extern "C" TRTMC_EXPORT int something_else() { return 0; }
#elif defined(TOY_WRONG_ABI)
extern "C" TRTMC_EXPORT const TrtmcModelV1* trtmc_model_v1() {
  static const TrtmcModelV1 model = [] {
    TrtmcModelV1 m{sizeof(TrtmcModelV1), current_abi(), "toy", TOY_STRATEGY, nullptr};
    m.abi.trtmc_abi = 77;
    return m;
  }();
  return &model;
}
#else
TRTMC_EXPORT_MODEL("toy", TOY_STRATEGY, ToyPlugin)
#endif
