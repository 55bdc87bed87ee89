#include "cc/decoder/text_generator.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "cc/decoder/text_output.h"
#include "cc/sampling/sampler.h"

namespace trtmc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kTransformersTopK = 50;  // of a checkpoint that samples and says no more

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

Status check_request(const Decoder& decoder, std::span<const std::int32_t> prompt,
                     const GenerationOptions& options) {
  if (options.max_new_tokens < 1) {
    return usage_error("generate.bad_option", "max_new_tokens must be 1 or more, found " +
                       std::to_string(options.max_new_tokens));
  }
  if (options.logprobs && *options.logprobs < 0) {
    return usage_error("generate.bad_option", "logprobs must be 0 or more, found " +
                       std::to_string(*options.logprobs));
  }
  if (prompt.empty()) {
    return bad_input("generate.empty_prompt",
                     "the prompt has no tokens; give at least one character or id");
  }
  const auto length = static_cast<std::int64_t>(prompt.size());
  const std::int64_t capacity = decoder.ledger().capacity();
  if (length > capacity) {
    return bad_input("generate.prompt_too_long", "the prompt has " + std::to_string(length) +
                     " tokens, but the cache holds " + std::to_string(capacity) +
                     " for prompt and answer together; shorten the prompt, or build the bundle "
                     "with a larger maximum sequence");
  }
  return Status::ok();
}

// One request. Lives for one call of generate_text.
class Generation {
 public:
  Generation(Decoder& decoder, const TextGenerationInfo& info, const GenerationOptions& options,
             const GenerationHooks& hooks, Sampler sampler, TextOutput output)
      : decoder_(decoder), info_(info), options_(options), hooks_(hooks),
        sampler_(std::move(sampler)), output_(std::move(output)), started_(Clock::now()) {}

  Result<GenerationResult> run(std::span<const std::int32_t> prompt);

 private:
  Result<LogitsView> prefill(std::span<const std::int32_t> prompt);
  Result<bool> take(LogitsView logits);  // true: go on
  Status finish();
  bool cancelled() const {
    return hooks_.cancel != nullptr && hooks_.cancel->load(std::memory_order_relaxed);
  }
  bool is_end_token(std::int32_t id) const {
    const auto& ends = info_.eos_token_ids;
    return !options_.ignore_eos && std::find(ends.begin(), ends.end(), id) != ends.end();
  }
  bool emit(std::int32_t id, std::string_view text) {
    result_.text += text;
    if (!hooks_.on_token) return true;
    const bool has = options_.logprobs.has_value() && id >= 0;
    return hooks_.on_token({id, text, has ? &result_.logprobs.back() : nullptr});
  }
  bool end(FinishReason reason) {
    result_.reason = reason;
    return false;
  }

  Decoder& decoder_;
  const TextGenerationInfo& info_;
  const GenerationOptions& options_;
  const GenerationHooks& hooks_;
  Sampler sampler_;
  TextOutput output_;
  Clock::time_point started_, first_{};
  GenerationResult result_;
};

Result<LogitsView> Generation::prefill(std::span<const std::int32_t> prompt) {
  result_.prompt_tokens = static_cast<std::int64_t>(prompt.size());
  result_.reused_tokens = decoder_.reuse_prefix(0, prompt);
  const auto rest = prompt.subspan(static_cast<std::size_t>(result_.reused_tokens));
  auto logits = decoder_.append(rest, {.cancel = hooks_.cancel});
  result_.timing.prefill = seconds(Clock::now() - started_);
  return logits;
}

Result<bool> Generation::take(LogitsView logits) {
  const std::span<const float> row(logits.data, static_cast<std::size_t>(logits.vocab));
  TRTMC_ASSIGN_OR_RETURN(const std::int32_t id, sampler_.next(row));
  if (result_.ids.empty()) {
    first_ = Clock::now();
    result_.timing.first_token = seconds(first_ - started_);
  }
  result_.ids.push_back(id);
  if (options_.logprobs) result_.logprobs.push_back(row_logprobs(row, id, *options_.logprobs));

  const bool ended = is_end_token(id);
  std::string text;
  if (!ended) {
    TRTMC_ASSIGN_OR_RETURN(text, output_.push(id));
  }
  const bool wanted = emit(id, text);
  if (ended) return end(FinishReason::kStop);
  if (output_.stopped()) {
    result_.stop_text = output_.stop_text();
    return end(FinishReason::kStop);
  }
  if (!wanted || cancelled()) return end(FinishReason::kCancelled);
  const auto count = static_cast<std::int64_t>(result_.ids.size());
  if (count >= options_.max_new_tokens) return end(FinishReason::kLength);
  if (decoder_.ledger().length(0) >= decoder_.ledger().capacity()) {
    return end(FinishReason::kCapacity);
  }
  return true;
}

Status Generation::finish() {
  if (!result_.ids.empty()) result_.timing.decode = seconds(Clock::now() - first_);
  TRTMC_ASSIGN_OR_RETURN(const std::string rest, output_.flush());
  // A stop text can become complete with the last, unfinished character only.
  if (output_.stopped() && result_.stop_text.empty()) {
    result_.stop_text = output_.stop_text();
    result_.reason = FinishReason::kStop;
  }
  if (!rest.empty()) emit(-1, rest);
  return Status::ok();
}

Result<GenerationResult> Generation::run(std::span<const std::int32_t> prompt) {
  sampler_.start(prompt);
  auto logits = prefill(prompt);
  while (logits.is_ok()) {
    TRTMC_ASSIGN_OR_RETURN(const bool more, take(*logits));
    if (!more) break;
    const std::int32_t id = result_.ids.back();
    logits = decoder_.append({&id, 1}, {.cancel = hooks_.cancel});
  }
  if (!logits.is_ok()) {
    if (logits.status().exit_class() != ExitClass::kInterrupted) return logits.status();
    result_.reason = FinishReason::kCancelled;
  }
  TRTMC_RETURN_IF_ERROR(finish());
  return std::move(result_);
}

}  // namespace

Result<GenerationResult> generate_text(Decoder& decoder, const TextCodec* codec,
                                       const TextGenerationInfo& info,
                                       std::span<const std::int32_t> prompt,
                                       const GenerationOptions& options,
                                       const GenerationHooks& hooks) {
  TRTMC_RETURN_IF_ERROR(check_request(decoder, prompt, options));
  TRTMC_ASSIGN_OR_RETURN(Sampler sampler, Sampler::create(options.sampling, decoder.vocab()));
  TRTMC_ASSIGN_OR_RETURN(TextOutput output,
                         TextOutput::create(codec, options.stop, options.skip_special));
  return Generation(decoder, info, options, hooks, std::move(sampler), std::move(output))
      .run(prompt);
}

SamplingOptions sampling_from(const SamplingDefaults& d) {
  SamplingOptions options;
  options.repetition_penalty = d.repetition_penalty.value_or(1);
  if (!d.do_sample.value_or(false)) return options;
  options.temperature = d.temperature.value_or(1);
  options.top_k = d.top_k.value_or(kTransformersTopK);
  options.top_p = d.top_p.value_or(1);
  options.min_p = d.min_p.value_or(0);
  return options;
}

}  // namespace trtmc
