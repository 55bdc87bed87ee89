#include "cc/text/chat_template.h"

#include "cc/text/border.h"

namespace trtmc {

using text_border::Buffer;
using text_border::span;
using text_border::status;

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::create(std::string_view file,
                                                           std::string_view config_json) {
  TrtmcTextTemplate* chat_template = nullptr;
  Buffer error;
  const int result =
      trtmc_text_template_open(span(file), span(config_json), &chat_template, error.out());
  TRTMC_RETURN_IF_ERROR(status(result, error));
  return std::unique_ptr<ChatTemplate>(new ChatTemplate(chat_template));
}

ChatTemplate::~ChatTemplate() { trtmc_text_template_close(template_); }

Result<std::string> ChatTemplate::render(std::string_view messages_json,
                                         const RenderOptions& options) const {
  const TrtmcTextChatRequest request = text_border::request(messages_json, options);
  Buffer text, error;
  const int result = trtmc_text_render(template_, &request, text.out(), error.out());
  TRTMC_RETURN_IF_ERROR(status(result, error));
  return text.text();
}

}  // namespace trtmc
