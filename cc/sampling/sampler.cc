#include "cc/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "cc/sampling/random.h"

namespace trtmc {
namespace {

Status bad_option(std::string_view name, std::string_view rule, double found) {
  std::ostringstream text;
  text << name << " must be " << rule << ", found " << found;
  return usage_error("sampling.bad_option", text.str());
}

bool by_score(const Candidate& a, const Candidate& b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
}

bool by_id(const Candidate& a, const Candidate& b) { return a.id < b.id; }

Status bad_logits() {
  return internal_error("sampling.bad_logits",
                        "the logits hold a NaN or no finite value, so no id can be chosen; "
                        "the engine or its weights are broken");
}

}  // namespace

Status check_sampling_options(const SamplingOptions& o) {
  // Written so that NaN fails each test.
  if (!(o.temperature >= 0) || std::isinf(o.temperature)) {
    return bad_option("temperature", "0 (greedy) or a positive number", o.temperature);
  }
  if (o.top_k < 0) {
    return bad_option("top_k", "0 (off) or the number of ids to keep",
                      static_cast<double>(o.top_k));
  }
  if (!(o.top_p > 0 && o.top_p <= 1)) return bad_option("top_p", "above 0, up to 1 (off)", o.top_p);
  if (!(o.min_p >= 0 && o.min_p <= 1)) return bad_option("min_p", "from 0 (off) to 1", o.min_p);
  if (!(o.repetition_penalty > 0) || std::isinf(o.repetition_penalty)) {
    return bad_option("repetition_penalty", "a positive number (1 is off)", o.repetition_penalty);
  }
  if (!std::isfinite(o.frequency_penalty)) {
    return bad_option("frequency_penalty", "a finite number (0 is off)", o.frequency_penalty);
  }
  if (!std::isfinite(o.presence_penalty)) {
    return bad_option("presence_penalty", "a finite number (0 is off)", o.presence_penalty);
  }
  return Status::ok();
}

// Two passes, the first four floats at a time: it runs once per token over the whole vocabulary.
std::int32_t argmax(std::span<const float> row) {
  using Lanes = float __attribute__((vector_size(16)));
  using Mask = std::int32_t __attribute__((vector_size(16)));
  constexpr std::size_t kLanes = 4;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  Lanes best = {kLowest, kLowest, kLowest, kLowest};
  Mask nan = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + kLanes <= row.size(); i += kLanes) {
    Lanes x;
    std::memcpy(&x, row.data() + i, sizeof x);
    nan |= x != x;
    best = x > best ? x : best;
  }
  float top = std::max(std::max(best[0], best[1]), std::max(best[2], best[3]));
  bool bad = (nan[0] | nan[1] | nan[2] | nan[3]) != 0;
  for (; i < row.size(); ++i) {
    bad |= row[i] != row[i];
    top = std::max(top, row[i]);
  }
  if (bad || top == kLowest) return -1;
  return static_cast<std::int32_t>(std::find(row.begin(), row.end(), top) - row.begin());
}

Result<Sampler> Sampler::create(const SamplingOptions& options, std::int64_t vocab) {
  TRTMC_RETURN_IF_ERROR(check_sampling_options(options));
  if (vocab <= 0 || vocab > std::numeric_limits<std::int32_t>::max()) {
    return internal_error("sampling.bad_vocab", "the vocabulary size " + std::to_string(vocab) +
                          " is not a positive 32-bit number");
  }
  return Sampler(options, vocab);
}

Sampler::Sampler(const SamplingOptions& options, std::int64_t vocab)
    : options_(options), vocab_(vocab) {}

void Sampler::start(std::span<const std::int32_t> prompt) {
  draws_ = 0;
  generated_.clear();
  seen_.clear();
  if (options_.repetition_penalty == 1) return;
  is_seen_.assign(static_cast<std::size_t>(vocab_), false);
  for (std::int32_t id : prompt) remember(id);
}

void Sampler::remember(std::int32_t id) {
  if (options_.repetition_penalty == 1 || id < 0 || id >= vocab_) return;
  if (is_seen_[static_cast<std::size_t>(id)]) return;
  is_seen_[static_cast<std::size_t>(id)] = true;
  seen_.push_back(id);
}

Result<std::span<const float>> Sampler::penalized(std::span<const float> logits) {
  if (static_cast<std::int64_t>(logits.size()) != vocab_) {
    return internal_error("sampling.bad_row", "a row of logits has " +
                          std::to_string(logits.size()) + " values, the vocabulary " +
                          std::to_string(vocab_));
  }
  const bool counts = options_.frequency_penalty != 0 || options_.presence_penalty != 0;
  if (seen_.empty() && !(counts && !generated_.empty())) return logits;

  scratch_.assign(logits.begin(), logits.end());
  const float repetition = static_cast<float>(options_.repetition_penalty);
  for (std::int32_t id : seen_) {
    float& score = scratch_[static_cast<std::size_t>(id)];
    score = score < 0 ? score * repetition : score / repetition;
  }
  if (counts) {
    for (const auto& [id, count] : generated_) {
      scratch_[static_cast<std::size_t>(id)] -=
          static_cast<float>(options_.frequency_penalty * static_cast<double>(count) +
                             options_.presence_penalty);
    }
  }
  return std::span<const float>(scratch_);
}

void Sampler::keep_top_k() {
  const auto k = static_cast<std::size_t>(options_.top_k);
  if (options_.top_k == 0 || k >= kept_.size()) return;
  auto nth = kept_.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(kept_.begin(), nth, kept_.end(), by_score);
  const float threshold = nth->score;
  std::erase_if(kept_, [&](const Candidate& c) { return c.score < threshold; });
}

// An id stays while the ids before it, best first, have not yet reached top_p together.
void Sampler::keep_top_p() {
  if (options_.top_p >= 1) return;
  double total = 0;
  for (const Candidate& c : kept_) total += c.weight;
  const double goal = options_.top_p * total;
  double sum = 0;
  std::size_t sorted = 0, keep = 0;
  // Mostly a few ids suffice, so sort a growing head instead of the whole vocabulary.
  for (std::size_t head = 64; keep == sorted && sorted < kept_.size(); head *= 4) {
    const std::size_t end = std::min(head, kept_.size());
    std::partial_sort(kept_.begin() + static_cast<std::ptrdiff_t>(sorted),
                      kept_.begin() + static_cast<std::ptrdiff_t>(end), kept_.end(), by_score);
    sorted = end;
    while (keep < sorted && (keep == 0 || sum < goal)) sum += kept_[keep++].weight;
  }
  kept_.resize(keep);
}

void Sampler::keep_min_p() {
  if (options_.min_p <= 0) return;
  double best = 0;
  for (const Candidate& c : kept_) best = std::max(best, c.weight);
  const double threshold = options_.min_p * best;
  std::erase_if(kept_, [&](const Candidate& c) { return c.weight < threshold; });
}

Result<std::span<const Candidate>> Sampler::candidates(std::span<const float> logits) {
  TRTMC_ASSIGN_OR_RETURN(const std::span<const float> row, penalized(logits));
  const std::int32_t best = argmax(row);
  if (best < 0 || std::isinf(row[static_cast<std::size_t>(best)])) return bad_logits();
  kept_.clear();
  if (options_.temperature < kGreedyBelow) {
    kept_.push_back({best, row[static_cast<std::size_t>(best)], 1});
    return std::span<const Candidate>(kept_);
  }
  const float temperature = static_cast<float>(options_.temperature);
  const float top = row[static_cast<std::size_t>(best)] / temperature;
  kept_.reserve(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    const float score = row[i] / temperature;
    if (std::isinf(score) && score < 0) continue;
    kept_.push_back({static_cast<std::int32_t>(i), score, 0});
  }
  keep_top_k();
  for (Candidate& c : kept_) c.weight = std::exp(static_cast<double>(c.score) - top);
  keep_top_p();
  keep_min_p();
  std::sort(kept_.begin(), kept_.end(), by_id);
  return std::span<const Candidate>(kept_);
}

Result<std::int32_t> Sampler::next(std::span<const float> logits) {
  TRTMC_ASSIGN_OR_RETURN(const std::span<const Candidate> kept, candidates(logits));
  std::int32_t id = kept.front().id;
  if (options_.temperature >= kGreedyBelow) {
    double total = 0;
    for (const Candidate& c : kept) total += c.weight;
    const double mark = philox_uniform(options_.seed, draws_++) * total;
    double sum = 0;
    for (const Candidate& c : kept) {
      if (c.weight > 0) id = c.id;  // rounding at the very end must not pick an impossible id
      sum += c.weight;
      if (mark < sum) break;
    }
  }
  remember(id);
  if (options_.frequency_penalty != 0 || options_.presence_penalty != 0) ++generated_[id];
  return id;
}

StepLogprobs row_logprobs(std::span<const float> logits, std::int32_t chosen, std::int64_t top) {
  float best = -std::numeric_limits<float>::infinity();
  for (float value : logits) best = std::max(best, value);
  double sum = 0;
  for (float value : logits) sum += std::exp(static_cast<double>(value) - best);
  const double norm = best + std::log(sum);
  const auto logprob = [&](std::int32_t id) {
    return static_cast<float>(logits[static_cast<std::size_t>(id)] - norm);
  };
  StepLogprobs step;
  step.chosen = {chosen, logprob(chosen)};
  const auto count = std::min<std::int64_t>(top, static_cast<std::int64_t>(logits.size()));
  if (count <= 0) return step;
  std::vector<std::int32_t> ids(logits.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i);
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [&](auto a, auto b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t id = ids[static_cast<std::size_t>(i)];
    step.top.push_back({id, logprob(id)});
  }
  return step;
}

}  // namespace trtmc
