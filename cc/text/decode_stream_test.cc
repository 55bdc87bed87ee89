// Streaming: complete characters only, as soon as they are complete, joining to the whole.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/text/test_models.h"
#include "cc/text/tokenizer.h"

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

// The piece of each id, and what flush adds.
std::vector<std::string> pieces(const Tokenizer& tokenizer, const Ids& ids, bool skip = true) {
  const auto stream = tokenizer.stream(skip);
  std::vector<std::string> out;
  for (const auto id : ids) out.push_back(*stream->push(id));
  out.push_back(*stream->flush());
  return out;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string all;
  for (const auto& piece : pieces) all += piece;
  return all;
}

Ids byte_ids(std::string_view text, int first = 0) {
  Ids ids;
  for (const char c : text) ids.push_back(first + static_cast<unsigned char>(c));
  return ids;
}

void expect_whole_characters(const Tokenizer& tokenizer, const Ids& ids, std::string_view text) {
  const auto found = pieces(tokenizer, ids);
  EXPECT_EQ(joined(found), text);
  EXPECT_EQ(found.back(), "");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(found[i].find("\ufffd"), std::string::npos) << i;
    // A piece comes with the byte that completes its character, so it ends there.
    const bool last_byte = i + 1 == ids.size() || (text[i + 1] & 0xc0) != 0x80;
    EXPECT_EQ(found[i].empty(), !last_byte) << i;
  }
}

TEST(DecodeStream, ByteLevelCharactersComeWhole) {
  const std::string text = "hi 😀 é 한";
  expect_whole_characters(*open(byte_level("")), byte_ids(text), text);
}

TEST(DecodeStream, ByteFallbackCharactersComeWhole) {
  const auto t = open(text_test::byte_fallback());
  const std::string text = "hi 😀 é 한";
  Ids ids = {259};  // the ▁ that decoding strips
  const Ids rest = byte_ids(text, 3);
  ids.insert(ids.end(), rest.begin(), rest.end());
  const auto found = pieces(*t, ids);
  EXPECT_EQ(joined(found), text);
  for (std::size_t i = 0; i + 1 < found.size(); ++i) {
    EXPECT_EQ(found[i].find("\ufffd"), std::string::npos) << i;
  }
}

TEST(DecodeStream, AnUnfinishedCharacterComesWithFlush) {
  const auto t = open(byte_level(""));
  const auto found = pieces(*t, byte_ids("a\xf0\x9f\x98"));
  EXPECT_EQ(found, (std::vector<std::string>{"a", "", "", "", "\ufffd"}));
  EXPECT_EQ(joined(found), *t->decode(byte_ids("a\xf0\x9f\x98"), true));
}

TEST(DecodeStream, BytesThatAreNoCharacterAppearOnceThatIsCertain) {
  const auto t = open(byte_level(""));
  const Ids ids = byte_ids("a\xff" "b\xf0\x9f" "c");
  const auto found = pieces(*t, ids);
  EXPECT_EQ(found[1], "");
  EXPECT_EQ(joined(found), *t->decode(ids, true));
  EXPECT_EQ(found.back(), "");
}

TEST(DecodeStream, CanBeUsedAgainAfterFlush) {
  const auto t = open(byte_level(""));
  const auto stream = t->stream(true);
  EXPECT_EQ(*stream->push('a'), "a");
  EXPECT_EQ(*stream->push(0xf0), "");
  EXPECT_EQ(*stream->flush(), "\ufffd");
  EXPECT_EQ(*stream->push('b'), "b");
  EXPECT_EQ(*stream->flush(), "");
}

TEST(DecodeStream, SpecialTokensAreAChoice) {
  const auto t = open(byte_level(added_token(256, "<|x|>")));
  EXPECT_EQ(joined(pieces(*t, {'a', 256, 'b'}, true)), "ab");
  EXPECT_EQ(joined(pieces(*t, {'a', 256, 'b'}, false)), "a<|x|>b");
}

TEST(DecodeStream, CleanedTextIsTheSameWholeAndStreamed) {
  const auto t = open(text_test::word_piece(), R"({"clean_up_tokenization_spaces":true})");
  for (const std::string text : {"hello, worlds!", "do n't a, b. x: ' s", "hello . a ' b"}) {
    const Ids ids = *t->encode(text, {});
    const std::string whole = *t->decode(ids, true);
    EXPECT_EQ(joined(pieces(*t, ids)), whole);
  }
}

TEST(DecodeStream, OutlivesItsTokenizer) {
  std::unique_ptr<DecodeStream> stream;
  {
    const auto t = open(byte_level(""));
    stream = t->stream(true);
  }
  EXPECT_EQ(*stream->push('a'), "a");
}

TEST(DecodeStream, NegativeIdsAreErrors) {
  const auto t = open(byte_level(""));
  EXPECT_EQ(t->stream(true)->push(-1).status().code(), "tokenizer.bad_id");
}

}  // namespace
}  // namespace trtmc
