// The loop of text generation: prefill, then sample, show and step until something ends it.
//
// Works on a Decoder and knows no family. What ends it, in the order of judgement after each id:
// an end token, a stop text, the callback or the cancel flag, max_new_tokens, the capacity.
#pragma once

#include <cstdint>
#include <span>

#include "cc/decoder/decoder.h"
#include "trtmc/bundle.h"
#include "trtmc/generation.h"
#include "trtmc/status.h"
#include "trtmc/text.h"

namespace trtmc {

// `codec` may be null. Errors: see TextGeneration::generate.
Result<GenerationResult> generate_text(Decoder& decoder, const TextCodec* codec,
                                       const TextGenerationInfo& info,
                                       std::span<const std::int32_t> prompt,
                                       const GenerationOptions& options,
                                       const GenerationHooks& hooks);

// The checkpoint's settings as complete options. Without do_sample it is greedy; with it, what the
// checkpoint leaves open is as in Transformers (temperature 1, top-k 50, top-p 1).
SamplingOptions sampling_from(const SamplingDefaults& defaults);

}  // namespace trtmc
