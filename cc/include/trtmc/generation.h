// Options, events and results of text generation: plain data shared by pipelines, the command
// line tool and the Python module. Defaults are greedy decoding with nothing filtered.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trtmc {

// Applied in this order (that of Hugging Face Transformers): repetition, frequency and presence
// penalty, temperature, top-k, top-p, min-p, then one draw.
struct SamplingOptions {
  double temperature = 0;          // 0 (and anything too small to divide by): greedy
  std::int64_t top_k = 0;          // 0: off; above the vocabulary: keeps all
  double top_p = 1;                // (0, 1]; 1: off
  double min_p = 0;                // [0, 1]; 0: off
  double repetition_penalty = 1;   // > 0; 1: off; over prompt and generated ids
  double frequency_penalty = 0;    // per occurrence among the generated ids
  double presence_penalty = 0;     // once for each id that was generated
  std::uint64_t seed = 0;          // same seed, options and logits: same ids, on every machine
};

struct GenerationOptions {
  SamplingOptions sampling;
  std::int64_t max_new_tokens = 256;  // also bounded by the capacity of the cache
  std::vector<std::string> stop;      // texts that end generation; they are not part of the result
  bool ignore_eos = false;
  // Absent: none. n: log-probability of the chosen id and of the n best ids, before sampling;
  // n above the vocabulary means all of it.
  std::optional<std::int64_t> logprobs;
  bool skip_special = true;  // in text; ids are always complete
};

struct TokenLogprob {
  std::int32_t id = 0;
  float logprob = 0;
};

struct StepLogprobs {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // best first; ties by lower id
};

enum class FinishReason : std::uint8_t {
  kLength = 0,     // max_new_tokens reached
  kStop = 1,       // an end token or a stop text
  kCapacity = 2,   // the cache is full
  kCancelled = 3,  // the callback or the cancel flag said so
};

constexpr std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kLength: return "length";
    case FinishReason::kStop: return "stop";
    case FinishReason::kCapacity: return "capacity";
    case FinishReason::kCancelled: return "cancelled";
  }
  return "unknown";
}

// Seconds on the steady clock.
struct GenerationTiming {
  double prefill = 0;      // evaluating the prompt, up to its logits
  double first_token = 0;  // request to first id chosen
  double decode = 0;       // first id to last id
};

struct GenerationResult {
  std::vector<std::int32_t> ids;  // generated ones, end token included
  std::string text;               // what was streamed, joined: without end token and stop text
  FinishReason reason = FinishReason::kLength;
  std::string stop_text;               // the stop text that was met
  std::vector<StepLogprobs> logprobs;  // one per id, if asked for
  std::int64_t prompt_tokens = 0;
  std::int64_t reused_tokens = 0;  // of the prompt, found in the cache of an earlier call
  GenerationTiming timing;
};

// One generated id. `text` may be empty (an unfinished character, or a possible beginning of a
// stop text held back) or hold text of earlier ids. Views are valid during the call only.
struct TokenEvent {
  std::int32_t id = 0;
  std::string_view text;
  const StepLogprobs* logprobs = nullptr;
};

// Called on the generating thread. Returning false ends generation with kCancelled. The last text
// held back, if any, comes in one more call with id -1.
using TokenCallback = std::function<bool(const TokenEvent&)>;

// Both optional. `cancel` may be set from any thread or a signal handler.
struct GenerationHooks {
  TokenCallback on_token;
  const std::atomic<bool>* cancel = nullptr;
};

}  // namespace trtmc
