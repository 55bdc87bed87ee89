// The options that `trtmc run` and `trtmc chat` share, as typed by the user.
//
// What the user left out stays absent here, so that the bundle's own settings apply.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trtmc/generation.h"
#include "trtmc/load.h"
#include "trtmc/status.h"

namespace trtmc::cli {

struct CommonOptions {
  std::string bundle;
  std::string runtime_root;
  std::string verify = "lazy";
  std::string compute;
  std::string target;
  int threads = 0;
  std::optional<int> device;
  std::int64_t max_sequence = 0;
  bool json = false;

  LoadOptions load_options() const;
};

struct SamplingArguments {
  std::optional<double> temperature, top_p, min_p;
  std::optional<double> repetition_penalty, frequency_penalty, presence_penalty;
  std::optional<std::int64_t> top_k;
  std::optional<std::uint64_t> seed;
  std::int64_t max_new_tokens = 256;
  std::vector<std::string> stop;
  std::optional<std::int64_t> logprobs;
  bool ignore_eos = false;
  bool show_special = false;

  // Over the bundle's `defaults`. Checks stop texts for UTF-8; draws a seed if none was given.
  Result<GenerationOptions> over(const SamplingOptions& defaults) const;
};

void add_common_options(CLI::App& app, CommonOptions& options);
void add_sampling_options(CLI::App& app, SamplingArguments& arguments);

}  // namespace trtmc::cli
