#include "cc/cli/options.h"

#include <random>

#include "cc/cli/console.h"
#include "cc/sampling/sampler.h"

namespace trtmc::cli {

LoadOptions CommonOptions::load_options() const {
  LoadOptions options;
  options.runtime_root = runtime_root;
  options.verify = verify == "full" ? Verify::kFull : Verify::kLazy;
  options.threads = threads;
  options.compute = compute;
  options.device = device;
  options.target = target;
  options.max_sequence = max_sequence;
  return options;
}

Result<GenerationOptions> SamplingArguments::over(const SamplingOptions& defaults) const {
  GenerationOptions options;
  SamplingOptions& s = options.sampling;
  s = defaults;
  s.temperature = temperature.value_or(s.temperature);
  s.top_k = top_k.value_or(s.top_k);
  s.top_p = top_p.value_or(s.top_p);
  s.min_p = min_p.value_or(s.min_p);
  s.repetition_penalty = repetition_penalty.value_or(s.repetition_penalty);
  s.frequency_penalty = frequency_penalty.value_or(s.frequency_penalty);
  s.presence_penalty = presence_penalty.value_or(s.presence_penalty);
  TRTMC_RETURN_IF_ERROR(check_sampling_options(s));
  s.seed = seed ? *seed : s.temperature < kGreedyBelow ? 0 : std::random_device()();
  for (const std::string& text : stop) TRTMC_RETURN_IF_ERROR(check_utf8(text, "--stop"));
  options.stop = stop;
  options.max_new_tokens = max_new_tokens;
  options.logprobs = logprobs;
  options.ignore_eos = ignore_eos;
  options.skip_special = !show_special;
  return options;
}

void add_common_options(CLI::App& app, CommonOptions& o) {
  app.add_option("bundle", o.bundle, "the .bundle file")->required();
  app.add_option("--runtime-root", o.runtime_root,
                 "folder that holds lib/trtmc (default: beside this program)");
  app.add_option("--verify", o.verify, "lazy: each section before its first use; full: all first")
      ->check(CLI::IsMember({"lazy", "full"}))
      ->capture_default_str();
  app.add_option("--compute", o.compute,
                 "faster numerics by name, e.g. bf16 (default: those of the bundle)");
  app.add_option("--target", o.target,
                 "which of the bundle's targets to run (default: the best for this machine)");
  app.add_option("--threads", o.threads, "threads to compute with (default: automatic)");
  app.add_option("--device", o.device,
                 "number of the GPU to run on, or fail (default: the first that fits, else the CPU)");
  app.add_option("--max-sequence", o.max_sequence,
                 "tokens the cache holds (default: the bundle's limit)");
  app.add_flag("--json", o.json, "print one JSON object instead of streaming text");
}

void add_sampling_options(CLI::App& app, SamplingArguments& a) {
  const std::string group = "Sampling, in this order (what is left out: as the checkpoint says)";
  const auto option = [&](const char* name, auto& value, const char* help) {
    app.add_option(name, value, help)->group(group);
  };
  option("--repetition-penalty", a.repetition_penalty, "over prompt and answer; 1: off");
  option("--frequency-penalty", a.frequency_penalty, "per occurrence in the answer; 0: off");
  option("--presence-penalty", a.presence_penalty, "for each id in the answer; 0: off");
  option("--temperature", a.temperature, "0: greedy");
  option("--top-k", a.top_k, "keep the k best ids; 0: off");
  option("--top-p", a.top_p, "keep the best ids that sum to p; 1: off");
  option("--min-p", a.min_p, "keep ids of at least p times the best; 0: off");
  option("--seed", a.seed, "same seed, same answer (default: a new one each time)");
  app.add_option("--max-new-tokens,-n", a.max_new_tokens, "most ids to generate")
      ->capture_default_str();
  app.add_option("--stop", a.stop, "text that ends the answer; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--logprobs", a.logprobs,
                 "with --json: log-probabilities of the n best ids of each step");
  app.add_flag("--ignore-eos", a.ignore_eos, "do not stop at end tokens");
  app.add_flag("--show-special", a.show_special, "show special tokens in the text");
}

}  // namespace trtmc::cli
