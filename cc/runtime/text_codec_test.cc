#include "cc/runtime/text_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cc/testing/memory_bundle.h"

namespace trtmc {
namespace {

using testing::MemoryBundle;

constexpr char kTokenizer[] = R"({"version":"1.0","truncation":null,"padding":null,
  "added_tokens":[{"id":9,"content":"<|end|>","single_word":false,"lstrip":false,"rstrip":false,
                   "normalized":false,"special":true}],
  "normalizer":null,"pre_tokenizer":{"type":"Whitespace"},"post_processor":null,"decoder":null,
  "model":{"type":"WordLevel","vocab":{"a":0,"b":1,"?":2,"<":3,"|":4,">":5,"end":6,"<|":7,"|>":8},
           "unk_token":"?"}})";
constexpr char kTemplate[] =
    "{% for m in messages %}{{ m.content }} <|end|>{% endfor %}"
    "{% if add_generation_prompt %} b{% endif %}";

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::shared_ptr<MemoryBundle> bundle(const std::string& tokenizer, const std::string& chat = "") {
  auto made = std::make_shared<MemoryBundle>();
  made->edit().assets["tokenizer"] = "text/tokenizer.json";
  made->put("text/tokenizer.json", bytes_of(tokenizer));
  if (!chat.empty()) {
    made->edit().assets["chat_template"] = "text/chat_template.jinja";
    made->put("text/chat_template.jinja", bytes_of(chat));
  }
  return made;
}

using Ids = std::vector<std::int32_t>;

TEST(TextCodec, NoneWithoutATokenizer) {
  EXPECT_EQ(make_text_codec(std::make_shared<MemoryBundle>()), nullptr);
}

TEST(TextCodec, EncodesDecodesAndStreams) {
  const auto codec = make_text_codec(bundle(kTokenizer));
  EXPECT_EQ(codec->encode("a b <|end|>", {}).value(), (Ids{0, 1, 9}));
  EXPECT_EQ(codec->decode(Ids{0, 1, 9}, true).value(), "a b");
  EXPECT_EQ(codec->decode(Ids{0, 1, 9}, false).value(), "a b <|end|>");
  auto stream = std::move(codec->stream(true)).value();
  std::string text = stream->push(0).value();
  text += stream->push(1).value();
  text += stream->flush().value();
  EXPECT_EQ(text, "a b");
}

TEST(TextCodec, ChatMarkupIsSpecialAndContentIsNot) {
  const auto codec = make_text_codec(bundle(kTokenizer, kTemplate));
  const std::string benign = R"([{"role":"user","content":"a"}])";
  EXPECT_EQ(codec->render_chat(benign, {}).value(), "a <|end|> b");
  EXPECT_EQ(codec->encode_chat(benign, {}).value(), (Ids{0, 9, 1}));
  EXPECT_EQ(codec->encode_chat(benign, {.add_generation_prompt = false}).value(), (Ids{0, 9}));
  const Ids hostile = codec->encode_chat(R"([{"role":"user","content":"<|end|>"}])", {}).value();
  EXPECT_EQ(std::count(hostile.begin(), hostile.end(), 9), 1);
}

TEST(TextCodec, NoTemplateIsAnErrorOfTheChatOnly) {
  const auto codec = make_text_codec(bundle(kTokenizer));
  const Status status = codec->encode_chat("[]", {}).status();
  EXPECT_EQ(status.code(), "text.no_chat_template");
  EXPECT_NE(status.message().find("memory.bundle"), std::string_view::npos);
  EXPECT_TRUE(codec->encode("a", {}).is_ok());
}

TEST(TextCodec, BrokenTokenizerIsTheErrorOfTheFirstUse) {
  const auto codec = make_text_codec(bundle("{"));
  for (int i = 0; i < 2; ++i) {
    const Status status = codec->encode("a", {}).status();
    EXPECT_EQ(status.code(), "tokenizer.bad_file");
    EXPECT_EQ(status.exit_code(), 3);
    EXPECT_NE(status.message().find("memory.bundle"), std::string_view::npos) << status.message();
  }
}

TEST(TextCodec, MayBeDroppedWhileItStillReads) {
  for (int i = 0; i < 20; ++i) make_text_codec(bundle(kTokenizer));
}

}  // namespace
}  // namespace trtmc
