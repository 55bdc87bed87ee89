// IPipeline: a loaded bundle, ready to answer; and the typed task interfaces that hang off it.
//
// A task interface is reached through its typed accessor, which is null when the bundle serves
// another task. trtmc::load_task<T> (load.h) turns that into an error at load time.
//
// Threads: one call at a time on one pipeline. Lifetime: a task pointer lives as long as its
// pipeline.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trtmc/backend.h"
#include "trtmc/bundle.h"
#include "trtmc/generation.h"
#include "trtmc/status.h"
#include "trtmc/text.h"

namespace trtmc {

// Logits of some rows, row-major float32; the memory is the pipeline's, until its next call.
struct LogitsView {
  const float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t vocab = 0;
};

// Task "text_generation_causal".
//
// The pipeline keeps its cache between calls: a prompt that begins with what the cache holds
// only costs its new part. The result is the same as with a fresh cache.
class TextGeneration {
 public:
  static constexpr std::string_view kTask = "text_generation_causal";

  virtual ~TextGeneration() = default;

  virtual const TextGenerationInfo& info() const = 0;
  virtual const TextCodec* text() const = 0;  // null if the bundle has no tokenizer

  // The checkpoint's own settings as complete options (greedy unless it says do_sample).
  virtual SamplingOptions default_sampling() const = 0;

  // Errors: "generate.empty_prompt", "generate.prompt_too_long" (names length, capacity and what
  // to do), "generate.bad_token_id", "sampling.bad_option" (names the option). After an error the
  // pipeline can be used again.
  virtual Result<GenerationResult> generate(std::span<const std::int32_t> prompt,
                                            const GenerationOptions& options,
                                            const GenerationHooks& hooks) = 0;

  // For tests of parity: the logits of every position of `ids`, evaluated on a reset cache in
  // chunks of `chunk` ids (0: one).
  virtual Result<LogitsView> logits(std::span<const std::int32_t> ids, std::int64_t chunk) = 0;

  // Forgets the cache. Cheap.
  virtual void reset() = 0;
};

// Named so that later tasks keep their place in the virtual table.
class SpeechToText;
class Embedding;
class ImageFeatures;
class MediaGeneration;

class IPipeline {
 public:
  virtual ~IPipeline() = default;

  virtual const BundleHeader& header() const = 0;
  virtual std::string_view bundle_id() const = 0;
  virtual const TargetInfo& target() const = 0;  // the one of the bundle's that was chosen
  virtual MemoryReport memory() const = 0;

  virtual TextGeneration* text_generation() { return nullptr; }
  virtual SpeechToText* speech_to_text() { return nullptr; }
  virtual Embedding* embedding() { return nullptr; }
  virtual ImageFeatures* image_features() { return nullptr; }
  virtual MediaGeneration* media_generation() { return nullptr; }
};

// The accessor of a task by type; specialised once per task.
template <class Task>
Task* task_of(IPipeline& pipeline);
template <>
inline TextGeneration* task_of<TextGeneration>(IPipeline& pipeline) {
  return pipeline.text_generation();
}

}  // namespace trtmc
