// One answer of a pipeline: streamed to the terminal with one line of figures, or as JSON.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cc/cli/options.h"
#include "trtmc/load.h"
#include "trtmc/pipeline.h"
#include "trtmc/status.h"

namespace trtmc::cli {

// A bundle that is loaded for `trtmc run` or `trtmc chat`.
struct OpenBundle {
  LoadedTask<TextGeneration> loaded;
  std::vector<LoadWarning> warnings;  // already told on standard error
};
Result<OpenBundle> open_bundle(const CommonOptions& options);

struct Answer {
  GenerationResult result;
  double first_token_since_start = 0;  // seconds since the process was started
};

// Generates; without `json` the text goes to standard output as it comes.
Result<Answer> answer(TextGeneration& llm, const std::vector<std::int32_t>& prompt,
                      const GenerationOptions& options, bool json, const std::atomic<bool>& cancel);

// "first token 0.19 s after start (0.06 s after the request) · prefill … · decode … · peak …"
std::string figures_line(const Answer& answer);

// Everything about an answer; `options` are those that were in force.
nlohmann::json answer_json(const OpenBundle& bundle, const Answer& answer,
                           const GenerationOptions& options);

nlohmann::json warnings_json(const OpenBundle& bundle);

// Prints a JSON value on one line; bytes that are not UTF-8 are replaced.
void print_json(const nlohmann::json& value);

}  // namespace trtmc::cli
