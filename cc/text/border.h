// The C++ side of the C border: spans, buffers that free themselves, and errors as Status.
//
// Private to //cc/text.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "cc/text/chat_template.h"
#include "cc/text/rust/trtmc_text.h"
#include "trtmc/status.h"

namespace trtmc::text_border {

inline TrtmcTextSpan span(std::string_view text) { return {text.data(), text.size()}; }

// A buffer that the library filled, or none.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { trtmc_text_free(raw_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  TrtmcTextBuffer* out() { return &raw_; }
  std::string_view view() const {
    return raw_.size == 0 ? std::string_view()
                          : std::string_view(reinterpret_cast<const char*>(raw_.data), raw_.size);
  }
  std::string text() const { return std::string(view()); }
  std::vector<std::int32_t> ids() const {
    std::vector<std::int32_t> ids(raw_.size / sizeof(std::int32_t));
    if (!ids.empty()) std::memcpy(ids.data(), raw_.data, raw_.size);
    return ids;
  }

 private:
  TrtmcTextBuffer raw_{};
};

// The Status of a call that returned `exit_class` and stored "slug\nsentence".
inline Status status(int exit_class, const Buffer& error) {
  if (exit_class == 0) return Status::ok();
  const std::string_view stored = error.view();
  const std::size_t cut = stored.find('\n');
  if (cut == std::string_view::npos) return internal_error("text.internal", std::string(stored));
  return {static_cast<ExitClass>(exit_class), std::string(stored.substr(0, cut)),
          std::string(stored.substr(cut + 1))};
}

inline TrtmcTextChatRequest request(std::string_view messages_json, const RenderOptions& options) {
  const FixedClock clock = options.clock.value_or(FixedClock{});
  return {
      .messages = span(messages_json),
      .tools = span(options.tools_json),
      .documents = span(options.documents_json),
      .variables = span(options.variables_json),
      .template_name = span(options.template_name),
      .continue_field = span(options.continue_field),
      .add_generation_prompt = options.add_generation_prompt,
      .fixed_clock = options.clock.has_value(),
      .clock_seconds = clock.seconds,
      .clock_utc_offset = clock.utc_offset,
  };
}

}  // namespace trtmc::text_border
