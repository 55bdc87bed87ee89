// ChatTemplate: a conversation to the text that the model was trained on, byte for byte as
// Transformers renders it.
//
// What Transformers does around Jinja2 is done here too: keys without a value are dropped from
// messages, reasoning_content/thinking/reasoning stand for each other, tools and documents are
// always defined, the special tokens of tokenizer_config.json are variables, and a model with
// several templates takes "tool_use" when there are tools. See README.md for the language.
//
// Templates are untrusted: instructions, recursion, nesting and the amount of text are limited,
// and there is no access to files, the network or the environment.
//
// Threads: immutable, can be shared. Errors: "text.no_chat_template", "template.syntax",
// "template.raised" (the template's own sentence), "template.failed" (names the line),
// "template.limit", "template.unknown_name", "template.bad_config", "chat.*" (the conversation).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trtmc/status.h"

struct TrtmcTextTemplate;

namespace trtmc {

// A moment for strftime_now, so that tests and reproducible runs need no clock.
struct FixedClock {
  std::int64_t seconds = 0;     // since 1970, UTC
  std::int64_t utc_offset = 0;  // seconds that local time is ahead of UTC
};

struct RenderOptions {
  bool add_generation_prompt = false;
  std::string tools_json{};      // list of JSON schemas; empty: none
  std::string documents_json{};  // list of objects; empty: none
  std::string variables_json{};  // object with further variables, such as {"enable_thinking":false}
  std::string template_name{};   // which of several templates; empty: as the tools say
  std::string continue_field{};  // "content" goes on with the last message instead of a new one
  std::optional<FixedClock> clock{};  // absent: the machine's clock and time zone
};

class ChatTemplate {
 public:
  // `file` is chat_template.jinja, which comes before chat_template of tokenizer_config.json;
  // either may be empty.
  static Result<std::unique_ptr<ChatTemplate>> create(std::string_view file,
                                                      std::string_view config_json);
  ~ChatTemplate();
  ChatTemplate(const ChatTemplate&) = delete;
  ChatTemplate& operator=(const ChatTemplate&) = delete;

  // `messages_json`: a list of objects with role and content.
  Result<std::string> render(std::string_view messages_json, const RenderOptions& options) const;

 private:
  friend class ChatEncoder;
  explicit ChatTemplate(TrtmcTextTemplate* chat_template) : template_(chat_template) {}

  TrtmcTextTemplate* template_;
};

}  // namespace trtmc
