#include "cc/cabi/trtmc.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/testing/bundle_file.h"
#include "cc/testing/runtime_root_fixture.h"

extern "C" std::uint32_t version_through_c(void);

namespace trtmc {
namespace {

class CabiTest : public testing::RuntimeRootTest {
 protected:
  void SetUp() override {
    RuntimeRootTest::SetUp();
    for (const char* file :
         {"libtrtmc_model_toy.so", "libtrtmc_backend_table.so", "libtoy_dependency.so"}) {
      install(file);
    }
    testing::BundleParts parts;
    parts.model = testing::TableModel::path(26, {0, 1, 2, 3, 4, 5});
    parts.limits = {1, 32, 32};
    ASSERT_TRUE(testing::write_bundle_file(bundle(), parts).is_ok());
    trtmc_load_options_init(&options_);
    text_ = root_.string();
    options_.runtime_root = text_.c_str();
  }
  void TearDown() override {
    trtmc_pipeline_free(llm_);
    trtmc_error_free(error_);
    RuntimeRootTest::TearDown();
  }
  std::string bundle() const { return (root_ / "x.bundle").string(); }

  std::string text_;
  trtmc_load_options options_;
  trtmc_pipeline* llm_ = nullptr;
  trtmc_error* error_ = nullptr;
};

int collect(void* user, std::int32_t id, const char*, std::size_t) {
  auto& seen = *static_cast<std::vector<std::int32_t>*>(user);
  seen.push_back(id);
  return seen.size() < 3;
}

TEST_F(CabiTest, LoadsGeneratesAndGivesLogits) {
  EXPECT_EQ(version_through_c(), 1u);
  ASSERT_EQ(trtmc_load(bundle().c_str(), &options_, &llm_, &error_), 0);
  EXPECT_EQ(trtmc_vocab_size(llm_), 26);
  EXPECT_EQ(trtmc_max_sequence(llm_), 32);
  EXPECT_STREQ(trtmc_load_warning(llm_), "");

  trtmc_generate_options options;
  trtmc_generate_options_init(llm_, &options);
  options.max_new_tokens = 4;
  const std::int32_t prompt[] = {0};
  trtmc_result* result = nullptr;
  ASSERT_EQ(trtmc_generate(llm_, prompt, 1, &options, nullptr, nullptr, &result, &error_), 0);
  std::size_t count = 0;
  const std::int32_t* ids = trtmc_result_ids(result, &count);
  EXPECT_EQ(std::vector<std::int32_t>(ids, ids + count), (std::vector<std::int32_t>{1, 2, 3, 4}));
  EXPECT_STREQ(trtmc_result_finish_reason(result), "length");
  EXPECT_STREQ(trtmc_result_text(result), "");
  trtmc_result_free(result);

  const float* logits = nullptr;
  ASSERT_EQ(trtmc_logits(llm_, prompt, 1, &logits, nullptr), 0);
  EXPECT_EQ(logits[1], 10);
  trtmc_reset(llm_);
}

TEST_F(CabiTest, CallbackEndsGeneration) {
  ASSERT_EQ(trtmc_load(bundle().c_str(), &options_, &llm_, &error_), 0);
  std::vector<std::int32_t> seen;
  const std::int32_t prompt[] = {0};
  trtmc_result* result = nullptr;
  ASSERT_EQ(trtmc_generate(llm_, prompt, 1, nullptr, collect, &seen, &result, nullptr), 0);
  EXPECT_EQ(seen, (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_STREQ(trtmc_result_finish_reason(result), "cancelled");
  trtmc_result_free(result);
}

TEST_F(CabiTest, FailuresHaveClassCodeAndSentence) {
  EXPECT_EQ(trtmc_load("/no/such.bundle", &options_, &llm_, &error_), 3);
  EXPECT_NE(std::string(trtmc_error_message(error_)).find("/no/such.bundle"), std::string::npos);
  EXPECT_EQ(llm_, nullptr);
  trtmc_error_free(error_);
  error_ = nullptr;
  ASSERT_EQ(trtmc_load(bundle().c_str(), &options_, &llm_, nullptr), 0);
  trtmc_result* result = nullptr;
  EXPECT_EQ(trtmc_generate(llm_, nullptr, 0, nullptr, nullptr, nullptr, &result, &error_), 3);
  EXPECT_STREQ(trtmc_error_code(error_), "generate.empty_prompt");
  std::int32_t* ids = nullptr;
  std::size_t count = 0;
  EXPECT_EQ(trtmc_encode(llm_, "x", &ids, &count, nullptr), 4);
}

TEST_F(CabiTest, AnOlderAndShorterStructLeavesTheRestAtItsDefault) {
  options_.struct_size = offsetof(trtmc_load_options, max_sequence);
  options_.max_sequence = 5;
  ASSERT_EQ(trtmc_load(bundle().c_str(), &options_, &llm_, &error_), 0);
  EXPECT_EQ(trtmc_max_sequence(llm_), 32);
}

}  // namespace
}  // namespace trtmc
