// encode_chat: a conversation to the ids that a model is asked with.
//
// The template's markup becomes special tokens; what a message, tool or document holds does not:
// a user who types "<|im_end|>" gets the ids of those ten characters. That costs nothing
// elsewhere: a conversation without such text has exactly the ids that Transformers'
// apply_chat_template(tokenize=True) gives. No BOS is added beyond the one that the template
// writes. How it works is in README.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cc/text/chat_template.h"
#include "cc/text/tokenizer.h"
#include "trtmc/status.h"

namespace trtmc {

struct ChatEncodeOptions {
  RenderOptions render{};
  // True reads special tokens inside messages as such, as Transformers does by default.
  bool special_in_content = false;
};

struct EncodedChat {
  std::vector<std::int32_t> ids;
  std::string text;  // what the ids stand for
};

// "tokenizer.special_in_text" if a tokenizer has no other ids for a special token's text.
Result<EncodedChat> encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                std::string_view messages_json, const ChatEncodeOptions& options);

}  // namespace trtmc
