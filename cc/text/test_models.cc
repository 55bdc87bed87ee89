#include "cc/text/test_models.h"

#include <cstdio>

namespace trtmc::text_test {
namespace {

// The character that stands for a byte, as UTF-8.
std::string stand_in(int byte) {
  const auto printable = [](int b) {
    return (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
  };
  int code = byte;
  if (!printable(byte)) {
    code = 0x100;
    for (int b = 0; b < byte; ++b) code += printable(b) ? 0 : 1;
  }
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xc0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3f))};
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string byte_vocab(std::string_view more_tokens) {
  std::string out = "{";
  for (int byte = 0; byte < 256; ++byte) {
    if (byte > 0) out += ',';
    out += quoted(stand_in(byte)) + ":" + std::to_string(byte);
  }
  return out + std::string(more_tokens) + "}";
}

std::string added_token(int id, std::string_view content, bool special, bool lstrip) {
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  return "{\"id\":" + std::to_string(id) + ",\"content\":" + quoted(content) +
         ",\"single_word\":false,\"lstrip\":" + flag(lstrip) +
         ",\"rstrip\":false,\"normalized\":false,\"special\":" + flag(special) + "}";
}

std::string byte_level(std::string_view added, std::string_view extra, std::string_view more_tokens,
                       std::string_view merges, std::string_view post_processor) {
  const std::string pattern =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|)"
      R"( ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)";
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)" +
         std::string(added) + R"(],"normalizer":null,"pre_tokenizer":{"type":"Sequence",)" +
         R"("pretokenizers":[{"type":"Split","pattern":{"Regex":")" + pattern +
         R"("},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,)" +
         R"("trim_offsets":true,"use_regex":false}]},"post_processor":)" +
         std::string(post_processor) +
         R"(,"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,)" +
         R"("use_regex":true},"model":{"type":"BPE","dropout":null,"unk_token":null,)" +
         R"("continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,)" +
         R"("byte_fallback":false,)" + std::string(extra) + R"("vocab":)" + byte_vocab(more_tokens) +
         R"(,"merges":[)" + std::string(merges) + "]}}";
}

std::string byte_fallback() {
  std::string vocab = R"("<unk>":0,"<s>":1,"</s>":2)";
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    vocab += ",\"" + std::string(name) + "\":" + std::to_string(3 + byte);
  }
  int next = 259;
  for (const char* token : {"▁", "h", "i", "<", ">", "/", "s", "0", "x", "4", "1"}) {
    vocab += ",\"" + std::string(token) + "\":" + std::to_string(next++);
  }
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)" +
         added_token(0, "<unk>") + "," + added_token(1, "<s>") + "," + added_token(2, "</s>") +
         R"(],"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},)" +
         R"({"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"pre_tokenizer":null,)" +
         R"("post_processor":null,"decoder":{"type":"Sequence","decoders":[{"type":"Replace",)" +
         R"("pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},)" +
         R"({"type":"Strip","content":" ","start":1,"stop":0}]},"model":{"type":"BPE",)" +
         R"("dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,)" +
         R"("end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":true,"vocab":{)" + vocab +
         R"(},"merges":[]}})";
}

std::string word_piece() {
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)" +
         added_token(0, "[UNK]") +
         R"(],"normalizer":null,"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":null,)" +
         R"("decoder":{"type":"WordPiece","prefix":"##","cleanup":false},"model":{)" +
         R"("type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",)" +
         R"("max_input_chars_per_word":100,"vocab":{"[UNK]":0,"hello":1,"world":2,"##s":3,",":4,)" +
         R"(".":5,"!":6,"'":7,"s":8,"do":9,"n":10,"t":11,":":12,"a":13,"b":14,"x":15}}})";
}

}  // namespace trtmc::text_test
