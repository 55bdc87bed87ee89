// TextCodec: text to ids and back, and conversations to ids, as a pipeline sees it.
//
// The host implements it over the bundle's own tokenizer and chat template (cc/text) and hands it
// to the model DSO, so that no DSO carries a tokenizer of its own. Thread-safe, except streams.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trtmc/status.h"

namespace trtmc {

struct EncodeOptions {
  bool add_special = true;    // what the tokenizer's post-processor adds, such as a BOS
  bool parse_special = true;  // "<|im_end|>" typed in the text becomes that token
};

struct ChatOptions {
  bool add_generation_prompt = true;
  std::string tools_json;  // JSON array, or empty for none
};

// Turns ids into text as they come. A piece is given out as soon as its characters are complete.
class TextStream {
 public:
  virtual ~TextStream() = default;
  virtual Result<std::string> push(std::int32_t id) = 0;  // empty while a character is unfinished
  virtual Result<std::string> flush() = 0;                // what is left, at the end
};

class TextCodec {
 public:
  virtual ~TextCodec() = default;

  // "text.invalid_utf8" (kBadInput) names the byte.
  virtual Result<std::vector<std::int32_t>> encode(std::string_view text,
                                                   const EncodeOptions& options) const = 0;
  virtual Result<std::string> decode(std::span<const std::int32_t> ids,
                                     bool skip_special) const = 0;
  virtual Result<std::unique_ptr<TextStream>> stream(bool skip_special) const = 0;

  // `messages_json` is a JSON array of {"role", "content", …}. What a user typed is encoded with
  // special tokens off, the template's markup with special tokens on; no BOS is added beyond the
  // template's own. "text.no_chat_template" (kUnsupported) if the bundle has none.
  virtual Result<std::vector<std::int32_t>> encode_chat(std::string_view messages_json,
                                                        const ChatOptions& options) const = 0;
  virtual Result<std::string> render_chat(std::string_view messages_json,
                                          const ChatOptions& options) const = 0;
};

}  // namespace trtmc
