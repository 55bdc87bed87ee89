// StopMatcher: finds stop texts in streamed text without ever letting a piece of one out.
//
// Works on text, not on ids, so a stop text may begin and end in the middle of tokens. Text that
// could still become a stop text is held back until it is decided.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trtmc/status.h"

namespace trtmc {

class StopMatcher {
 public:
  // "generate.bad_stop" (kUsage) for an empty stop text.
  static Result<StopMatcher> create(std::vector<std::string> stops);

  // Adds text and returns what may be shown now. After a match: the rest before the stop text,
  // and nothing from then on.
  std::string push(std::string_view text);

  // What was held back, when generation ended without a match.
  std::string flush();

  bool matched() const { return !match_.empty(); }
  const std::string& match() const { return match_; }

 private:
  explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  std::size_t undecided_from() const;

  std::vector<std::string> stops_;
  std::string held_;
  std::string match_;
};

}  // namespace trtmc
