#include "cc/text/chat.h"

#include "cc/text/border.h"

namespace trtmc {

using text_border::Buffer;
using text_border::status;

// Reaches the handles of both halves, which nobody else needs.
class ChatEncoder {
 public:
  static Result<EncodedChat> encode(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                    std::string_view messages_json,
                                    const ChatEncodeOptions& options) {
    const TrtmcTextChatRequest request = text_border::request(messages_json, options.render);
    Buffer ids, text, error;
    const int result = trtmc_text_encode_chat(tokenizer.tokenizer_, chat_template.template_,
                                              &request, options.special_in_content, ids.out(),
                                              text.out(), error.out());
    TRTMC_RETURN_IF_ERROR(status(result, error));
    return EncodedChat{ids.ids(), text.text()};
  }
};

Result<EncodedChat> encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                std::string_view messages_json, const ChatEncodeOptions& options) {
  return ChatEncoder::encode(tokenizer, chat_template, messages_json, options);
}

}  // namespace trtmc
