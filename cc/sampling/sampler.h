// Sampler: one row of logits to one id. Knows nothing of models, caches or text.
//
// Order, that of Hugging Face Transformers (kSamplingOrder): repetition, frequency and presence
// penalty, temperature, top-k, top-p, min-p, then a draw. Ties: top-k keeps all ids equal to the
// k-th best (as Transformers does); greedy and the order within top-p prefer the lower id.
//
//   auto sampler = Sampler::create(options, vocab);
//   sampler->start(prompt_ids);
//   auto id = sampler->next(logits);   // also remembers the id for the penalties
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trtmc/generation.h"
#include "trtmc/status.h"

namespace trtmc {

inline constexpr std::array<std::string_view, 8> kSamplingOrder = {
    "repetition_penalty", "frequency_penalty", "presence_penalty", "temperature",
    "top_k",              "top_p",             "min_p",            "draw"};

// Below this a temperature means greedy: the quotient would only amplify rounding noise.
inline constexpr double kGreedyBelow = 1e-5;

// "sampling.bad_option" (kUsage) naming the option, what it may be and what was found.
Status check_sampling_options(const SamplingOptions& options);

// A candidate that survived the filters. `weight` is its unnormalised probability.
struct Candidate {
  std::int32_t id;
  float score;
  double weight;
};

class Sampler {
 public:
  static Result<Sampler> create(const SamplingOptions& options, std::int64_t vocab);

  // Begins a sequence: forgets counts, draw number back to 0.
  void start(std::span<const std::int32_t> prompt);

  // Picks the next id. "sampling.bad_logits" (kInternal) if the row has a NaN or nothing finite.
  Result<std::int32_t> next(std::span<const float> logits);

  // The ids that would be drawn from, by rising id; for tests and inspection. Does not draw.
  Result<std::span<const Candidate>> candidates(std::span<const float> logits);

 private:
  Sampler(const SamplingOptions& options, std::int64_t vocab);

  Result<std::span<const float>> penalized(std::span<const float> logits);
  void remember(std::int32_t id);
  void keep_top_k();
  void keep_top_p();
  void keep_min_p();

  SamplingOptions options_;
  std::int64_t vocab_;
  std::uint64_t draws_ = 0;
  std::vector<std::int32_t> seen_;  // distinct ids of prompt and output, for the repetition penalty
  std::vector<bool> is_seen_;
  std::unordered_map<std::int32_t, std::int64_t> generated_;
  std::vector<float> scratch_;
  std::vector<Candidate> kept_;
};

// log_softmax of a raw row: the chosen id and the `top` best (at most all), best first.
StepLogprobs row_logprobs(std::span<const float> logits, std::int32_t chosen, std::int64_t top);

// Index of the largest value, the lowest among equals; -1 if there is a NaN or no finite value.
std::int32_t argmax(std::span<const float> row);

}  // namespace trtmc
