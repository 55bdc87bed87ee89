// The sampler against Hugging Face Transformers' own processors. To make the goldens again:
//   python cc/sampling/testdata/make_warpers.py > cc/sampling/testdata/warpers.json
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cc/sampling/sampler.h"

namespace trtmc {
namespace {

TEST(SamplerGolden, KeepsWhatTransformersKeepsWithTheSameProbabilities) {
  std::ifstream file("cc/sampling/testdata/warpers.json");
  ASSERT_TRUE(file.good()) << "run from the workspace root";
  const auto golden = nlohmann::json::parse(file);
  int checked = 0;
  for (const auto& c : golden["cases"]) {
    const auto& o = c["options"];
    const SamplingOptions options{.temperature = o["temperature"],
                                  .top_k = o["top_k"].get<std::int64_t>(),
                                  .top_p = o["top_p"],
                                  .min_p = o["min_p"],
                                  .repetition_penalty = o["repetition_penalty"]};
    const auto logits = c["logits"].get<std::vector<float>>();
    const auto history = c["history"].get<std::vector<std::int32_t>>();
    Sampler sampler =
        Sampler::create(options, static_cast<std::int64_t>(logits.size())).value();
    sampler.start(history);
    const auto kept = sampler.candidates(logits).value();
    double total = 0;
    std::vector<std::int32_t> ids;
    for (const Candidate& one : kept) {
      ids.push_back(one.id);
      total += one.weight;
    }
    ASSERT_EQ(ids, c["kept"].get<std::vector<std::int32_t>>()) << c.dump();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ASSERT_NEAR(kept[i].weight / total, c["probabilities"][i].get<double>(), 2e-6) << c.dump();
    }
    ++checked;
  }
  EXPECT_EQ(checked, 300);
}

}  // namespace
}  // namespace trtmc
