#include "cc/cli/answer.h"

#include <cstdio>
#include <utility>

#include "cc/cli/console.h"
#include "cc/sampling/sampler.h"

namespace trtmc::cli {
namespace {

using nlohmann::json;

double per_second(std::int64_t count, double seconds) {
  return count > 0 && seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

std::int64_t evaluated(const GenerationResult& r) { return r.prompt_tokens - r.reused_tokens; }

std::int64_t decoded(const GenerationResult& r) {
  return static_cast<std::int64_t>(r.ids.size()) - 1;  // the first id comes out of the prefill
}

json sampling_json(const SamplingOptions& s) {
  return {{"order", kSamplingOrder},
          {"temperature", s.temperature},
          {"top_k", s.top_k},
          {"top_p", s.top_p},
          {"min_p", s.min_p},
          {"repetition_penalty", s.repetition_penalty},
          {"frequency_penalty", s.frequency_penalty},
          {"presence_penalty", s.presence_penalty},
          {"greedy", s.temperature < kGreedyBelow},
          {"seed", s.seed}};
}

json logprob_json(const TokenLogprob& t) { return {{"id", t.id}, {"logprob", t.logprob}}; }

json logprobs_json(const std::vector<StepLogprobs>& steps) {
  json list = json::array();
  for (const StepLogprobs& step : steps) {
    json one = logprob_json(step.chosen);
    one["top"] = json::array();
    for (const TokenLogprob& t : step.top) one["top"].push_back(logprob_json(t));
    list.push_back(std::move(one));
  }
  return list;
}

json timing_json(const Answer& a) {
  const GenerationTiming& t = a.result.timing;
  return {{"first_token_since_start_s", a.first_token_since_start},
          {"first_token_since_request_s", t.first_token},
          {"prefill_s", t.prefill},
          {"prefill_tokens_per_s", per_second(evaluated(a.result), t.prefill)},
          {"decode_s", t.decode},
          {"decode_tokens_per_s", per_second(decoded(a.result), t.decode)}};
}

}  // namespace

Result<OpenBundle> open_bundle(const CommonOptions& common) {
  OpenBundle bundle;
  LoadOptions options = common.load_options();
  options.on_warning = [&](const LoadWarning& warning) {
    std::fprintf(stderr, "warning: %s\n", warning.message.c_str());
    bundle.warnings.push_back(warning);
  };
  TRTMC_ASSIGN_OR_RETURN(bundle.loaded, load_task<TextGeneration>(common.bundle, options));
  return bundle;
}

Result<Answer> answer(TextGeneration& llm, const std::vector<std::int32_t>& prompt,
                      const GenerationOptions& options, bool json,
                      const std::atomic<bool>& cancel) {
  Answer a;
  GenerationHooks hooks;
  hooks.cancel = &cancel;
  hooks.on_token = [&](const TokenEvent& event) {
    if (a.first_token_since_start == 0) a.first_token_since_start = seconds_since_process_start();
    if (!json && !event.text.empty()) {
      std::fwrite(event.text.data(), 1, event.text.size(), stdout);
      std::fflush(stdout);
    }
    return true;
  };
  TRTMC_ASSIGN_OR_RETURN(a.result, llm.generate(prompt, options, hooks));
  return a;
}

std::string figures_line(const Answer& a) {
  const GenerationResult& r = a.result;
  char line[320];
  std::snprintf(line, sizeof line,
                "first token %.2f s after start (%.3f s after the request) · prefill %lld tokens, "
                "%.0f tok/s · decode %lld tokens, %.1f tok/s · peak memory %.0f MB · ended by %s",
                a.first_token_since_start, r.timing.first_token,
                static_cast<long long>(evaluated(r)), per_second(evaluated(r), r.timing.prefill),
                static_cast<long long>(decoded(r) < 0 ? 0 : decoded(r)),
                per_second(decoded(r), r.timing.decode),
                static_cast<double>(peak_memory()) / 1e6,
                std::string(finish_reason_name(r.reason)).c_str());
  return line;
}

json warnings_json(const OpenBundle& bundle) {
  json list = json::array();
  for (const LoadWarning& w : bundle.warnings) {
    list.push_back({{"code", w.code}, {"message", w.message}});
  }
  return list;
}

json answer_json(const OpenBundle& bundle, const Answer& a, const GenerationOptions& options) {
  const GenerationResult& r = a.result;
  const IPipeline& pipeline = *bundle.loaded.pipeline;
  const BundleHeader& h = pipeline.header();
  json value = {{"text", r.text},
                {"ids", r.ids},
                {"finish_reason", finish_reason_name(r.reason)},
                {"stop_text", r.stop_text.empty() ? json() : json(r.stop_text)},
                {"prompt_tokens", r.prompt_tokens},
                {"reused_tokens", r.reused_tokens},
                {"generated_tokens", r.ids.size()},
                {"sampling", sampling_json(options.sampling)},
                {"timing", timing_json(a)},
                {"peak_memory_bytes", peak_memory()},
                {"warnings", warnings_json(bundle)},
                {"bundle",
                 {{"id", pipeline.bundle_id()},
                  {"family", h.family},
                  {"runtime_strategy", h.runtime_strategy},
                  {"target", pipeline.target().name}}}};
  if (options.logprobs) value["logprobs"] = logprobs_json(r.logprobs);
  return value;
}

void print_json(const json& value) {
  std::printf("%s\n", value.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
}

}  // namespace trtmc::cli
