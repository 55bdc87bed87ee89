// Tokenizer behaviour that other runtimes got wrong, on small tokenizers made here. The expected
// ids and texts are those of the Python library `tokenizers` 0.23.3.
#include "cc/text/tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "cc/text/test_models.h"

namespace trtmc {
namespace {

using Ids = std::vector<std::int32_t>;
using text_test::added_token;
using text_test::byte_level;

std::unique_ptr<Tokenizer> open(const std::string& json, std::string_view config = {}) {
  auto tokenizer = Tokenizer::from_json(json, config);
  EXPECT_TRUE(tokenizer.is_ok()) << tokenizer.status().message();
  return std::move(tokenizer).value();
}

Ids encode(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
  auto ids = tokenizer.encode(text, options);
  EXPECT_TRUE(ids.is_ok()) << ids.status().message();
  return ids.is_ok() ? *ids : Ids{-1};
}

std::string decode(const Tokenizer& tokenizer, const Ids& ids, bool skip_special = true) {
  auto text = tokenizer.decode(ids, skip_special);
  EXPECT_TRUE(text.is_ok()) << text.status().message();
  return text.is_ok() ? *text : "?";
}

std::vector<std::string> tokens(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> out;
  for (const auto id : encode(tokenizer, text)) out.push_back(tokenizer.token(id)->text);
  return out;
}

// The ids of bytes in `byte_level` tokenizers.
Ids bytes(std::string_view text) {
  Ids ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

Ids joined(const Ids& a, const Ids& b) {
  Ids all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

TEST(Tokenizer, LstripEatsAllWhiteSpaceBeforeTheToken) {
  const auto t = open(byte_level(added_token(256, "<mask>", true, true)));
  EXPECT_EQ(encode(*t, "is  \u3000<mask>."), (Ids{'i', 's', 256, '.'}));
  // U+200B is not white space: its three bytes stay.
  EXPECT_EQ(encode(*t, "is\u200b<mask>"), (Ids{'i', 's', 0xe2, 0x80, 0x8b, 256}));
}

TEST(Tokenizer, LookAheadKeepsTheLastSpaceForTheWord) {
  const auto t = open(byte_level("", "", R"(,"ĠĠ":256,"ĠĠĠ":257,"ĠĠĠĠ":258,"Ġr":259)",
                                 R"(["Ġ","Ġ"],["ĠĠ","Ġ"],["ĠĠ","ĠĠ"],["Ġ","r"])"));
  EXPECT_EQ(tokens(*t, "    return"),
            (std::vector<std::string>{"ĠĠĠ", "Ġr", "e", "t", "u", "r", "n"}));
  for (int n = 1; n <= 17; ++n) {
    const std::string text = std::string(n, ' ') + "x";
    EXPECT_EQ(decode(*t, encode(*t, text)), text) << n;
    // The last space belongs to the word, so it never merges with the others.
    const auto pieces = tokens(*t, text);
    EXPECT_EQ(pieces[pieces.size() - 2], "Ġ") << n;
  }
  for (const std::string text : {"a \n\n  b", "\t   x", "trailing   ", "  \r\n \n"}) {
    EXPECT_EQ(decode(*t, encode(*t, text)), text);
  }
}

TEST(Tokenizer, IgnoreMergesFindsWholeWords) {
  const std::string more = R"(,"ĠViet":256)";
  const auto with = open(byte_level("", R"("ignore_merges":true,)", more));
  const auto without = open(byte_level("", "", more));
  EXPECT_EQ(encode(*with, " Viet"), (Ids{256}));
  EXPECT_EQ(encode(*without, " Viet"), bytes(" Viet"));
}

TEST(Tokenizer, ByteFallbackKeepsWhatTheUserTyped) {
  const auto t = open(text_test::byte_fallback());
  for (const std::string text : {"hi", "  hi", "<0x41>", "é", "😀", " "}) {
    EXPECT_EQ(decode(*t, encode(*t, text)), text) << text;
  }
  EXPECT_EQ(encode(*t, "<0x41>").size(), 7u);  // ▁ and six characters
  EXPECT_EQ(tokens(*t, "é"), (std::vector<std::string>{"▁", "<0xC3>", "<0xA9>"}));
  EXPECT_EQ(encode(*t, ""), Ids{});
  const Ids two = encode(*t, "hi</s>hi");
  EXPECT_EQ(decode(*t, two, true), "hi hi");
  EXPECT_EQ(decode(*t, two, false), "hi</s> hi");
}

TEST(Tokenizer, MergesAsPairsAndAsOneText) {
  const std::string more = R"(,"ab":256,"abc":257)";
  const auto pairs = open(byte_level("", "", more, R"(["a","b"],["ab","c"])"));
  const auto lines = open(byte_level("", "", more, R"("a b","ab c")"));
  for (const std::string text : {"abc", "ab", "cab abc", "aabbcc"}) {
    EXPECT_EQ(encode(*pairs, text), encode(*lines, text)) << text;
  }
  EXPECT_EQ(encode(*pairs, "abc"), (Ids{257}));
}

TEST(Tokenizer, MergePartsWithASpaceWorkAsPairs) {
  // No pre-tokenizer takes the space away here, so the merge can only be written as a pair.
  const std::string json =
      R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,)"
      R"("pre_tokenizer":null,"post_processor":null,"decoder":{"type":"Fuse"},"model":{)"
      R"("type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,)"
      R"("end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,)"
      R"("vocab":{"a":0," ":1,"b":2,"a ":3,"a b":4},"merges":[["a"," "],["a ","b"]]}})";
  const auto t = open(json);
  EXPECT_EQ(encode(*t, "a b"), (Ids{4}));
  EXPECT_EQ(encode(*t, "a a b"), (Ids{3, 4}));
}

TEST(Tokenizer, SpecialTokensInRawTextAreAChoice) {
  const auto t = open(byte_level(added_token(256, "<|im_end|>") + "," +
                                 added_token(257, "<think>", false)));
  const std::string text = "x<|im_end|>\n<think>";
  EXPECT_EQ(encode(*t, text), (Ids{'x', 256, '\n', 257}));
  // Off: the special token is its characters; the ordinary added token stays.
  EXPECT_EQ(encode(*t, text, {.parse_special = false}), joined(bytes("x<|im_end|>\n"), {257}));
  EXPECT_EQ(encode(*t, "plain", {.parse_special = false}), bytes("plain"));
}

TEST(Tokenizer, PlainFormOfASpecialTokenMustExist) {
  const std::string json =
      R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)" +
      added_token(1, "[X]") +
      R"(],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,)"
      R"("decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"[X]":1,"a":2},)"
      R"("unk_token":"[UNK]"}})";
  const auto t = open(json);
  const auto ids = t->encode("a [X]", {.parse_special = false});
  ASSERT_FALSE(ids.is_ok());
  EXPECT_EQ(ids.status().code(), "tokenizer.special_in_text");
  EXPECT_NE(ids.status().message().find("[X]"), std::string::npos);
}

TEST(Tokenizer, CleanUpIsForWordPieceOnly) {
  const std::string config = R"({"clean_up_tokenization_spaces":true})";
  const auto bpe = open(byte_level(""), config);
  for (const std::string text : {"a ,b", "x .", ": '", "do n't"}) {
    EXPECT_EQ(decode(*bpe, encode(*bpe, text)), text);
  }
  const auto words = open(text_test::word_piece(), config);
  EXPECT_EQ(decode(*words, encode(*words, "hello, worlds!")), "hello, worlds!");
  const auto raw = open(text_test::word_piece());
  EXPECT_EQ(decode(*raw, encode(*raw, "hello, worlds!")), "hello , worlds !");
  const std::string forced =
      R"({"clean_up_tokenization_spaces":true,)"
      R"("clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output":true})";
  const auto spoilt = open(byte_level(""), forced);
  EXPECT_EQ(decode(*spoilt, encode(*spoilt, "a ,b")), "a,b");
}

TEST(Tokenizer, PostProcessorIsAChoice) {
  const std::string post =
      R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},)"
      R"({"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},)"
      R"({"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"<s>":{"id":"<s>","ids":[256],)"
      R"("tokens":["<s>"]}}})";
  const auto t = open(byte_level(added_token(256, "<s>"), "", "", "", post));
  EXPECT_EQ(encode(*t, "a"), (Ids{256, 'a'}));
  EXPECT_EQ(encode(*t, "a", {.add_special = false}), (Ids{'a'}));
  // A raw prompt that writes BOS itself gets two, as in the Python library.
  EXPECT_EQ(encode(*t, "<s>a"), (Ids{256, 256, 'a'}));
  EXPECT_EQ(encode(*t, ""), (Ids{256}));
}

TEST(Tokenizer, PaddingAndTruncationOfTheFileAreOff) {
  std::string json = byte_level("");
  const std::string none = R"("truncation":null,"padding":null)";
  json.replace(json.find(none), none.size(),
               R"("truncation":{"direction":"Right","max_length":2,"strategy":"LongestFirst",)"
               R"("stride":0},"padding":{"strategy":{"Fixed":8},"direction":"Right",)"
               R"("pad_to_multiple_of":null,"pad_id":0,"pad_type_id":0,"pad_token":"!"})");
  const auto t = open(json);
  EXPECT_EQ(encode(*t, "abc"), bytes("abc"));
}

TEST(Tokenizer, Utf8ErrorsNameTheByte) {
  const auto t = open(byte_level(""));
  const auto ids = t->encode("ab\xff", {});
  ASSERT_FALSE(ids.is_ok());
  EXPECT_EQ(ids.status().code(), "text.invalid_utf8");
  EXPECT_EQ(ids.status().exit_class(), ExitClass::kBadInput);
  EXPECT_NE(ids.status().message().find("byte 2 (0xff)"), std::string::npos)
      << ids.status().message();
}

TEST(Tokenizer, NulAndControlsPass) {
  const auto t = open(byte_level(""));
  const std::string text("a\0b\x01", 4);
  EXPECT_EQ(encode(*t, text), (Ids{'a', 0, 'b', 1}));
  EXPECT_EQ(decode(*t, {'a', 0, 'b', 1}), text);
}

TEST(Tokenizer, BadFilesAreErrors) {
  for (const std::string json : {"", "{", "[]", "{\"version\":\"1.0\"}"}) {
    const auto t = Tokenizer::from_json(json);
    ASSERT_FALSE(t.is_ok()) << json;
    EXPECT_EQ(t.status().code(), "tokenizer.bad_file");
    EXPECT_EQ(t.status().exit_class(), ExitClass::kBadInput);
  }
  EXPECT_EQ(Tokenizer::from_json("\xc3").status().code(), "text.invalid_utf8");
  EXPECT_EQ(Tokenizer::from_json(byte_level(""), "{").status().code(), "tokenizer.bad_config");
}

// The library cuts the prefix off the second part of a merge without looking at its length.
TEST(Tokenizer, PartsThatContradictEachOtherAreAnError) {
  testing::internal::CaptureStderr();
  const auto t = Tokenizer::from_json(
      R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,)"
      R"("pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE",)"
      R"("continuing_subword_prefix":"##","vocab":{"e":0,"t":1,"et":2},"merges":[["e","t"]]}})");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_FALSE(t.is_ok());
  EXPECT_EQ(t.status().code(), "tokenizer.bad_file");
  EXPECT_EQ(t.status().exit_class(), ExitClass::kBadInput);
}

TEST(Tokenizer, IdsOutsideTheVocabulary) {
  const auto t = open(byte_level(""));
  EXPECT_EQ(t->vocab_size(), 256u);
  EXPECT_EQ(decode(*t, {'a', 99999, 'b'}), "ab");
  EXPECT_EQ(t->decode(Ids{-1}, true).status().code(), "tokenizer.bad_id");
  EXPECT_EQ(t->token(99999), std::nullopt);
  EXPECT_EQ(t->id("nosuch"), std::nullopt);
  EXPECT_EQ(t->id("a"), 'a');
}

TEST(Tokenizer, IsSharedBetweenThreads) {
  const auto t = open(byte_level(added_token(256, "<|x|>")));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&, k] {
      for (int i = 0; i < 500; ++i) {
        const std::string text = "thread " + std::to_string(k) + "<|x|>" + std::to_string(i);
        const auto ids = t->encode(text, {});
        const bool right = ids.is_ok() && *t->decode(*ids, false) == text;
        wrong[k] += right ? 0 : 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace trtmc
