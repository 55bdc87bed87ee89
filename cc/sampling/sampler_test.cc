#include "cc/sampling/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace trtmc {
namespace {

std::vector<float> logs(std::initializer_list<double> probabilities) {
  std::vector<float> row;
  for (double p : probabilities) row.push_back(static_cast<float>(std::log(p)));
  return row;
}

std::vector<float> ramp16() {
  std::vector<float> row;
  for (int i = 0; i < 16; ++i) row.push_back(static_cast<float>((i * 7) % 16) * 0.3f);
  return row;
}

Sampler sampler(const SamplingOptions& options, std::int64_t vocab) {
  Sampler s = std::move(Sampler::create(options, vocab)).value();
  s.start({});
  return s;
}

std::vector<std::int32_t> kept_ids(const SamplingOptions& options, std::span<const float> row) {
  Sampler s = sampler(options, static_cast<std::int64_t>(row.size()));
  std::vector<std::int32_t> ids;
  for (const Candidate& c : s.candidates(row).value()) ids.push_back(c.id);
  return ids;
}

std::vector<std::int32_t> draws(const SamplingOptions& options, std::span<const float> row, int n) {
  Sampler s = sampler(options, static_cast<std::int64_t>(row.size()));
  std::vector<std::int32_t> ids;
  for (int i = 0; i < n; ++i) ids.push_back(s.next(row).value());
  return ids;
}

void expect_bad(const SamplingOptions& options, std::string_view name) {
  const Status status = check_sampling_options(options);
  EXPECT_EQ(status.code(), "sampling.bad_option") << name;
  EXPECT_EQ(status.exit_code(), 2);
  EXPECT_NE(status.message().find(name), std::string_view::npos) << status.message();
}

TEST(Sampler, OptionsOutOfRangeAreNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (double t : {-1.0, nan, inf}) expect_bad({.temperature = t}, "temperature");
  expect_bad({.top_k = -1}, "top_k");
  for (double p : {0.0, -0.1, 1.1, nan}) expect_bad({.top_p = p}, "top_p");
  for (double p : {-0.1, 1.1, nan}) expect_bad({.min_p = p}, "min_p");
  for (double p : {0.0, -1.0, nan, inf}) {
    expect_bad({.repetition_penalty = p}, "repetition_penalty");
  }
  expect_bad({.frequency_penalty = nan}, "frequency_penalty");
  expect_bad({.presence_penalty = inf}, "presence_penalty");
  EXPECT_TRUE(check_sampling_options({}).is_ok());
}

TEST(Sampler, TemperatureZeroAndTinyAreGreedyWhateverElseIsSet) {
  const std::vector<float> row = logs({.1, .2, .4, .3});
  for (double t : {0.0, 1e-6, 1e-30, 5e-324}) {
    const SamplingOptions options{
        .temperature = t, .top_k = 3, .top_p = .9, .min_p = .1, .seed = 1};
    EXPECT_EQ(draws(options, row, 8), std::vector<std::int32_t>(8, 2)) << t;
  }
}

TEST(Sampler, GreedyPrefersTheLowerIdAmongEquals) {
  const std::vector<float> row = {0, 3, 3, 1};
  EXPECT_EQ(draws({}, row, 1)[0], 1);
}

TEST(Argmax, EveryPlaceAndLength) {
  for (std::size_t size = 1; size < 20; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<float> row(size, -3);
      row[at] = -1;
      EXPECT_EQ(argmax(row), static_cast<std::int32_t>(at));
      row.back() = -1;  // the first of two
      EXPECT_EQ(argmax(row), static_cast<std::int32_t>(at));
      row[size / 2] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_EQ(argmax(row), -1);
    }
  }
  EXPECT_EQ(argmax({}), -1);
}

TEST(Sampler, TopKZeroIsOffAndVocabularyOrMoreKeepsAll) {
  const std::vector<float> row = ramp16();
  const auto all = kept_ids({.temperature = 1, .top_k = 0}, row);
  EXPECT_EQ(all.size(), 16u);
  EXPECT_EQ(kept_ids({.temperature = 1, .top_k = 1}, row).size(), 1u);
  EXPECT_EQ(kept_ids({.temperature = 1, .top_k = 15}, row).size(), 15u);
  const auto off = draws({.temperature = 1, .seed = 11}, row, 200);
  for (std::int64_t k : {16, 17, 2147483647}) {
    EXPECT_EQ(kept_ids({.temperature = 1, .top_k = k}, row), all);
    EXPECT_EQ(draws({.temperature = 1, .top_k = k, .seed = 11}, row, 200), off);
  }
}

TEST(Sampler, MinPComesAfterTemperature) {
  const std::vector<float> row = logs({.5, .3, .15, .05});
  EXPECT_EQ(kept_ids({.temperature = 1, .min_p = .25}, row).size(), 3u);
  EXPECT_EQ(kept_ids({.temperature = 3, .min_p = .25}, row).size(), 4u);
  EXPECT_EQ(kept_ids({.temperature = .5, .min_p = .25}, row).size(), 2u);
}

TEST(Sampler, TopPWorksOnWhatTopKLeft) {
  // top-k 2 leaves .5 and .3, renormalised .625 and .375: top-p .6 then needs one id only.
  const std::vector<float> row = logs({.5, .3, .15, .05});
  EXPECT_EQ(kept_ids({.temperature = 1, .top_p = .6}, row).size(), 2u);
  EXPECT_EQ(kept_ids({.temperature = 1, .top_k = 2, .top_p = .6}, row).size(), 1u);
}

TEST(Sampler, TopPWithFlatRowOfManyIds) {
  const std::vector<float> row(5000, 1.0f);
  EXPECT_EQ(kept_ids({.temperature = 1, .top_p = .5}, row).size(), 2500u);
}

TEST(Sampler, SameSeedSameIdsOtherSeedOtherIds) {
  const std::vector<float> row = ramp16();
  EXPECT_EQ(draws({.temperature = 1, .seed = 3}, row, 50),
            draws({.temperature = 1, .seed = 3}, row, 50));
  EXPECT_NE(draws({.temperature = 1, .seed = 3}, row, 50),
            draws({.temperature = 1, .seed = 4}, row, 50));
}

// Written down once: a change of generator or of the order of summation changes users' outputs.
TEST(Sampler, DrawsArePinned) {
  const std::vector<float> row = ramp16();
  EXPECT_EQ(draws({.temperature = 1, .seed = 42}, row, 12),
            (std::vector<std::int32_t>{9, 15, 11, 11, 4, 4, 3, 6, 9, 4, 9, 4}));
}

TEST(Sampler, FrequenciesFollowTheProbabilities) {
  const std::vector<float> row = logs({.5, .3, .15, .05});
  std::map<std::int32_t, int> counts;
  for (std::int32_t id : draws({.temperature = 1, .seed = 9}, row, 20000)) ++counts[id];
  EXPECT_NEAR(counts[0] / 20000.0, .5, .015);
  EXPECT_NEAR(counts[1] / 20000.0, .3, .015);
  EXPECT_NEAR(counts[2] / 20000.0, .15, .015);
  EXPECT_NEAR(counts[3] / 20000.0, .05, .015);
}

TEST(Sampler, RepetitionPenaltyCoversPromptAndOutputOnce) {
  Sampler s = std::move(Sampler::create({.repetition_penalty = 2}, 4)).value();
  const std::vector<std::int32_t> prompt = {0, 0, 9, -1};  // strange ids are not counted
  s.start(prompt);
  const std::vector<float> row = {4, 3, 2.5, -1};
  EXPECT_EQ(s.next(row).value(), 1);  // 0 fell to 2
  EXPECT_EQ(s.next(row).value(), 2);  // 1 fell to 1.5
  EXPECT_EQ(s.next(row).value(), 0);  // 2, 1.5, 1.25: id 0 was penalised once, not twice
  s.start({});
  EXPECT_EQ(s.next(row).value(), 0);
}

TEST(Sampler, RepetitionPenaltyMultipliesNegativeScores) {
  Sampler s = std::move(Sampler::create({.repetition_penalty = 2}, 2)).value();
  const std::vector<std::int32_t> prompt = {0};
  s.start(prompt);
  EXPECT_EQ(s.next(std::vector<float>{-1, -1.5}).value(), 1);
}

TEST(Sampler, FrequencyAndPresencePenaltiesCountGeneratedIdsOnly) {
  Sampler f = std::move(Sampler::create({.frequency_penalty = 1}, 2)).value();
  const std::vector<std::int32_t> prompt = {0, 0, 0};
  f.start(prompt);
  const std::vector<float> row = {2.5, 1};
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(f.next(row).value());
  EXPECT_EQ(ids, (std::vector<std::int32_t>{0, 0, 1, 0}));  // 2.5 1.5 .5 | 0 of id 1 after its use

  Sampler p = std::move(Sampler::create({.presence_penalty = 1}, 2)).value();
  p.start(prompt);
  ids.clear();
  for (int i = 0; i < 3; ++i) ids.push_back(p.next(row).value());
  EXPECT_EQ(ids, (std::vector<std::int32_t>{0, 0, 0}));  // 1.5 however often
}

TEST(Sampler, MinusInfinityIsNeverDrawn) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> row = {-inf, 0, -inf, 0};
  for (std::int32_t id : draws({.temperature = 5, .seed = 2}, row, 100)) {
    EXPECT_TRUE(id == 1 || id == 3);
  }
}

TEST(Sampler, BrokenRowsAreErrors) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& row :
       {std::vector<float>{0, NAN}, {-inf, -inf}, {inf, 0}}) {
    for (double t : {0.0, 1.0}) {
      Sampler s = sampler({.temperature = t}, 2);
      EXPECT_EQ(s.next(row).status().code(), "sampling.bad_logits");
    }
  }
  Sampler s = sampler({}, 3);
  EXPECT_EQ(s.next(std::vector<float>{0, 1}).status().code(), "sampling.bad_row");
}

TEST(Logprobs, AnyCountIsSafeAndAllSumToOne) {
  const std::vector<float> row = ramp16();
  EXPECT_TRUE(row_logprobs(row, 3, 0).top.empty());
  EXPECT_EQ(row_logprobs(row, 3, 1).top.size(), 1u);
  for (std::int64_t n : {16, 17, 1000000}) {
    const StepLogprobs step = row_logprobs(row, 3, n);
    ASSERT_EQ(step.top.size(), 16u);
    double sum = 0;
    for (const TokenLogprob& t : step.top) sum += std::exp(t.logprob);
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_EQ(step.top[0].id, argmax(row));
    for (std::size_t i = 1; i < 16; ++i) EXPECT_GE(step.top[i - 1].logprob, step.top[i].logprob);
  }
  EXPECT_EQ(row_logprobs(row, 3, 1).chosen.id, 3);
}

TEST(Logprobs, LogSoftmaxOfTheTable) {
  const std::vector<float> row = logs({.5, .3, .15, .05});
  const StepLogprobs step = row_logprobs(row, 2, 4);
  EXPECT_NEAR(step.chosen.logprob, std::log(.15), 1e-6);
  EXPECT_NEAR(step.top[3].logprob, std::log(.05), 1e-6);
}

}  // namespace
}  // namespace trtmc
