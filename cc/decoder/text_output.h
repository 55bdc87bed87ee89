// TextOutput: generated ids to text that may be shown: complete characters only, and nothing that
// belongs to a stop text.
//
// Without a codec (a bundle that has no tokenizer) there is no text, and stop texts are refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/sampling/stop_matcher.h"
#include "trtmc/status.h"
#include "trtmc/text.h"

namespace trtmc {

class TextOutput {
 public:
  // `codec` may be null. "generate.no_tokenizer" (kUnsupported), "generate.bad_stop" (kUsage).
  static Result<TextOutput> create(const TextCodec* codec, std::vector<std::string> stops,
                                   bool skip_special) {
    const bool looks_for_stops = !stops.empty();
    TRTMC_ASSIGN_OR_RETURN(StopMatcher matcher, StopMatcher::create(std::move(stops)));
    if (codec == nullptr && looks_for_stops) {
      return unsupported("generate.no_tokenizer",
                         "the bundle has no tokenizer, so it cannot look for stop texts");
    }
    TextOutput output(std::move(matcher));
    if (codec != nullptr) {
      TRTMC_ASSIGN_OR_RETURN(output.stream_, codec->stream(skip_special));
    }
    return output;
  }

  // What may be shown after this id.
  Result<std::string> push(std::int32_t id) {
    if (stream_ == nullptr) return std::string();
    TRTMC_ASSIGN_OR_RETURN(const std::string text, stream_->push(id));
    return matcher_.push(text);
  }

  // The rest, at the end of generation.
  Result<std::string> flush() {
    if (stream_ == nullptr || matcher_.matched()) return std::string();
    TRTMC_ASSIGN_OR_RETURN(const std::string text, stream_->flush());
    std::string shown = matcher_.push(text);
    return matcher_.matched() ? shown : shown + matcher_.flush();
  }

  bool stopped() const { return matcher_.matched(); }
  const std::string& stop_text() const { return matcher_.match(); }

 private:
  explicit TextOutput(StopMatcher matcher) : matcher_(std::move(matcher)) {}

  StopMatcher matcher_;
  std::unique_ptr<TextStream> stream_;
};

}  // namespace trtmc
