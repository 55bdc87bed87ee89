#include "cc/bundle/bundle.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>
#include <vector>

#include "cc/bundle/sample_bundle.h"

namespace trtmc {
namespace {

using bundle::assemble;
using bundle::encode_canonical;
using bundle::sample_bundle;
using bundle::sample_header;
using bundle::Scratch;
using bundle::VerifiedCache;

Result<std::unique_ptr<Bundle>> open(const std::string& path, VerifyMode mode = VerifyMode::kLazy,
                                     const std::string& cache = "") {
  return Bundle::open(path, mode, VerifiedCache(cache));
}

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string with(std::string data, std::size_t offset, char value) {
  data[offset] = value;
  return data;
}

// Makes `path` look as if it had not been changed for an hour.
void settle(const std::string&) { std::this_thread::sleep_for(std::chrono::milliseconds(150)); }

TEST(Bundle, ReadsTheWholeHeader) {
  Scratch scratch;
  const auto opened = open(scratch.write("x.bundle", sample_bundle()), VerifyMode::kFull);
  ASSERT_TRUE(opened.is_ok()) << opened.status().message();
  const BundleHeader& header = (*opened)->header();
  EXPECT_EQ(header.kind, "native");
  EXPECT_EQ(header.family, "llama");
  EXPECT_EQ(header.task, "embedding");
  EXPECT_EQ(header.runtime_strategy, "strategy");
  EXPECT_EQ(header.targets[0].name, "cpu_x86_64");
  EXPECT_EQ(header.targets[0].cuda_version, std::nullopt);
  EXPECT_EQ(header.assets.at("tokenizer"), "note.txt");
  EXPECT_EQ(header.assets.count("chat_template"), 0u);
  EXPECT_FALSE(header.text_generation.has_value());
  const Contract& contract = header.find_component("llm")->find_engine("cpu_x86_64")->contract;
  EXPECT_EQ(contract.inputs[0].shape, (std::vector<Dim>{"batch", std::int64_t{4}}));
  EXPECT_EQ(contract.outputs[0].dtype, DType::kBFloat16);
  EXPECT_EQ(contract.profiles[0].dims.at("batch").opt, 2);
  EXPECT_EQ(contract.limits.max_batch, 3);
  EXPECT_EQ(nlohmann::json::parse(header.provenance_json)["builder"]["version"], "1");
  EXPECT_EQ(header.find_component("llm")->find_engine("sm_89"), nullptr);
  const BundleEngine& engine = header.components[0].engines[0];
  EXPECT_EQ(engine.options_json, R"({"precision":"fp32"})");
  const WeightBinding& binding = engine.weights.at(0);
  EXPECT_EQ(binding.shape, (Shape{2, 1}));
  EXPECT_EQ(binding.steps, (std::vector{WeightStep::kReshape, WeightStep::kCast}));
  EXPECT_EQ(header.weights->tensors.at(0).dtype, DType::kFloat16);
  EXPECT_EQ((*opened)->id(), bundle::hash_text(encode_canonical(sample_header())));
}

TEST(Bundle, ReadsTextGenerationFacts) {
  Scratch scratch;
  nlohmann::json header = sample_header();
  header["task"] = "text_generation_causal";
  header["text_generation"] = nlohmann::json::parse(R"({"vocab_size": 9, "max_sequence": 7,
      "bos_token_id": null, "eos_token_ids": [3, 1], "pad_token_id": 0, "sampling": {
      "do_sample": false, "temperature": 0.5, "top_k": 4, "top_p": null, "min_p": 0.25,
      "repetition_penalty": 1.0}})");
  const auto opened = open(scratch.write("x.bundle", assemble(encode_canonical(header))));
  ASSERT_TRUE(opened.is_ok()) << opened.status().message();
  const TextGenerationInfo& facts = *(*opened)->header().text_generation;
  EXPECT_EQ(facts.vocab_size, 9);
  EXPECT_EQ(facts.max_sequence, 7);
  EXPECT_EQ(facts.bos_token_id, std::nullopt);
  EXPECT_EQ(facts.eos_token_ids, (std::vector<std::int32_t>{3, 1}));
  EXPECT_EQ(facts.pad_token_id, 0);
  EXPECT_EQ(facts.sampling.do_sample, false);
  EXPECT_EQ(facts.sampling.temperature, 0.5);
  EXPECT_EQ(facts.sampling.top_k, 4);
  EXPECT_EQ(facts.sampling.top_p, std::nullopt);
  EXPECT_EQ(facts.sampling.min_p, 0.25);
}

TEST(Bundle, GivesSections) {
  Scratch scratch;
  const auto opened = open(scratch.write("x.bundle", sample_bundle()));
  ASSERT_TRUE(opened.is_ok());
  const auto note = (*opened)->section("note.txt");
  ASSERT_TRUE(note.is_ok());
  EXPECT_EQ(text(*note), "note");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(note->data()) % 4096, 0u);
  EXPECT_EQ((*opened)->section("nothing").status().code(), "bundle.no_such_section");
}

TEST(Bundle, LazyFindsADamagedSectionWhenItIsUsed) {
  Scratch scratch;
  const std::string path = scratch.write("x.bundle", with(sample_bundle(), 8192, 'N'));
  const auto opened = open(path);
  ASSERT_TRUE(opened.is_ok());
  EXPECT_TRUE((*opened)->section("llm.engine").is_ok());
  const Status damaged = (*opened)->section("note.txt").status();
  EXPECT_EQ(damaged.code(), "bundle.section_sha256");
  EXPECT_EQ(damaged.exit_class(), ExitClass::kBadInput);
  EXPECT_NE(damaged.message().find(path), std::string_view::npos);
  EXPECT_NE(damaged.message().find("note.txt"), std::string_view::npos);
  EXPECT_EQ((*opened)->section("note.txt").status().code(), "bundle.section_sha256");
  EXPECT_EQ(open(path, VerifyMode::kFull).status().code(), "bundle.section_sha256");
}

TEST(Bundle, ErrorsNameTheFile) {
  Scratch scratch;
  const std::string path = scratch.write("x.bundle", "hello");
  const Status status = open(path).status();
  EXPECT_EQ(status.code(), "bundle.bad_magic");
  EXPECT_EQ(status.message().find(path), 0u);
  EXPECT_EQ(open(scratch.path("absent")).status().code(), "bundle.not_found");
}

TEST(Bundle, NewerVersionsAreUnsupportedNotBroken) {
  Scratch scratch;
  const std::string path = scratch.write("x.bundle", with(sample_bundle(), 8, 2));
  EXPECT_EQ(open(path).status().code(), "bundle.unsupported_version");
  EXPECT_EQ(open(path).status().exit_class(), ExitClass::kUnsupported);
}

TEST(Bundle, APipeIsRefusedWithoutWaiting) {
  Scratch scratch;
  ASSERT_EQ(::mkfifo(scratch.path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(open(scratch.path("pipe")).status().code(), "bundle.not_found");
}

TEST(Bundle, StampSparesTheHashOfAnUnchangedFile) {
  Scratch scratch;
  const std::string path = scratch.write("x.bundle", sample_bundle());
  const std::string cache = scratch.path("verified");
  settle(path);
  ASSERT_TRUE((*open(path, VerifyMode::kLazy, cache))->section("note.txt").is_ok());
  const auto again = open(path, VerifyMode::kLazy, cache);
  EXPECT_TRUE((*again)->section("note.txt").is_ok());
  // One stamp: the other section was never used.
  const auto stamps = std::filesystem::directory_iterator(cache);
  EXPECT_EQ(std::distance(begin(stamps), end(stamps)), 1);
}

TEST(Bundle, StampDoesNotHideALaterChange) {
  Scratch scratch;
  const std::string path = scratch.write("x.bundle", sample_bundle());
  const std::string cache = scratch.path("verified");
  settle(path);
  ASSERT_TRUE((*open(path, VerifyMode::kLazy, cache))->section("note.txt").is_ok());
  scratch.write("x.bundle", with(sample_bundle(), 8192, 'N'));
  EXPECT_EQ((*open(path, VerifyMode::kLazy, cache))->section("note.txt").status().code(),
            "bundle.section_sha256");
}

TEST(Bundle, FullVerificationTrustsNoStamp) {
  Scratch scratch;
  const std::string path = scratch.write("x.bundle", with(sample_bundle(), 8192, 'N'));
  const std::string cache = scratch.path("verified");
  settle(path);
  const auto identity = (*bundle::MappedFile::open(path))->identity();
  const std::string id((*open(path))->id());
  VerifiedCache(cache).add(id, "note.txt", identity);  // a forged stamp
  EXPECT_TRUE((*open(path, VerifyMode::kLazy, cache))->section("note.txt").is_ok());
  EXPECT_EQ(open(path, VerifyMode::kFull, cache).status().code(), "bundle.section_sha256");
  const auto lazy = open(path, VerifyMode::kLazy, cache);
  EXPECT_TRUE((*lazy)->section("note.txt").is_ok());
  EXPECT_EQ((*lazy)->verify_all().code(), "bundle.section_sha256");
}

TEST(Bundle, ManyThreadsGetTheSameAnswer) {
  Scratch scratch;
  const auto good = open(scratch.write("good", sample_bundle()));
  const auto bad = open(scratch.write("bad", with(sample_bundle(), 8192, 'N')));
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      const bool fine = (*good)->section("note.txt").is_ok();
      right += fine && (*bad)->section("note.txt").status().code() == "bundle.section_sha256";
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 16);
}

}  // namespace
}  // namespace trtmc
