// What every decoder family's model DSO must do, over the table backend and a bundle in memory.
// TRTMC_FAMILY and TRTMC_STRATEGY come from the macro decoder_plugin_test.
#include <gtest/gtest.h>

#include "cc/testing/memory_bundle.h"
#include "cc/testing/piece_codec.h"
#include "trtmc/model.h"

extern "C" const TrtmcModelV1* trtmc_model_v1();

namespace trtmc {
namespace {

using testing::MemoryBundle;
using testing::TableModel;

PipelineInputs inputs_of(std::shared_ptr<const BundleView> bundle) {
  PipelineInputs inputs;
  inputs.target = bundle->header().targets.at(0);
  inputs.bundle = std::move(bundle);
  inputs.backend = std::make_shared<testing::TableBackend>(std::make_shared<testing::RunLog>());
  inputs.text = testing::PieceCodec::letters();
  return inputs;
}

std::unique_ptr<IPipelinePlugin> plugin() {
  IPipelinePlugin* made = nullptr;
  Status error;
  EXPECT_TRUE(trtmc_model_v1()->create(&made, &error)) << error.message();
  return std::unique_ptr<IPipelinePlugin>(made);
}

TEST(DecoderPlugin, ServesItsOneStrategy) {
  EXPECT_TRUE(check_abi(trtmc_model_v1()->abi).is_ok());
  EXPECT_STREQ(trtmc_model_v1()->family, TRTMC_FAMILY);
  EXPECT_STREQ(trtmc_model_v1()->runtime_strategy, TRTMC_STRATEGY);
  EXPECT_EQ(plugin()->runtime_strategy(), TRTMC_STRATEGY);
}

TEST(DecoderPlugin, GeneratesAndGivesLogits) {
  const auto bundle = MemoryBundle::of(TableModel::path(26, {0, 1, 2, 3, 4, 5}),
                                       {.max_sequence = 32}, TRTMC_STRATEGY);
  auto pipeline = std::move(plugin()->create(inputs_of(bundle))).value();
  TextGeneration* llm = pipeline->text_generation();
  ASSERT_NE(llm, nullptr);
  EXPECT_EQ(llm->info().max_sequence, 32);
  const std::vector<std::int32_t> prompt = {0};
  EXPECT_EQ(llm->generate(prompt, {.max_new_tokens = 4}, {}).value().text, "BCDE");
  const LogitsView logits = llm->logits(std::vector<std::int32_t>{1, 3}, 0).value();
  EXPECT_EQ(logits.rows, 2);
  EXPECT_EQ(logits.data[2], 10);
  EXPECT_EQ(logits.data[26 + 4], 10);
  EXPECT_GT(pipeline->memory().per_session, 0u);
}

TEST(DecoderPlugin, BadBundlesAreNamed) {
  const auto make = [&](auto edit) {
    auto bundle = MemoryBundle::of(TableModel::path(26, {0, 1}), {}, TRTMC_STRATEGY);
    edit(bundle->edit());
    return plugin()->create(inputs_of(bundle)).status();
  };
  EXPECT_EQ(make([](BundleHeader& h) { h.components.clear(); }).code(), "load.missing_component");
  EXPECT_EQ(make([](BundleHeader& h) { h.text_generation.reset(); }).code(), "load.bad_header");
  EXPECT_EQ(make([](BundleHeader& h) { h.text_generation->vocab_size = 25; }).code(),
            "load.bad_header");
  EXPECT_EQ(make([](BundleHeader& h) { h.components[0].engines[0].section = "gone"; }).code(),
            "bundle.no_section");
  EXPECT_EQ(make([](BundleHeader& h) { h.components[0].engines[0].contract.state.pop_back(); }).code(),
            "decoder.bad_cache");
}

}  // namespace
}  // namespace trtmc
