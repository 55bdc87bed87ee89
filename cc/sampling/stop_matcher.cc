#include "cc/sampling/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace trtmc {

Result<StopMatcher> StopMatcher::create(std::vector<std::string> stops) {
  for (const std::string& stop : stops) {
    if (stop.empty()) {
      return usage_error("generate.bad_stop", "a stop text must not be empty; leave it out");
    }
  }
  return StopMatcher(std::move(stops));
}

// First place from which the held text equals the beginning of some stop text up to its own end.
std::size_t StopMatcher::undecided_from() const {
  std::size_t from = held_.size();
  for (const std::string& stop : stops_) {
    const std::size_t longest = std::min(held_.size(), stop.size() - 1);
    for (std::size_t n = longest; n > 0; --n) {
      if (std::string_view(held_).substr(held_.size() - n) == std::string_view(stop).substr(0, n)) {
        from = std::min(from, held_.size() - n);
        break;
      }
    }
  }
  return from;
}

std::string StopMatcher::push(std::string_view text) {
  if (matched()) return {};
  held_ += text;
  // The stop text that is complete first wins, however the text was cut into pieces.
  std::size_t begin = 0, end = std::string::npos;
  for (const std::string& stop : stops_) {
    const std::size_t at = held_.find(stop);
    if (at == std::string::npos) continue;
    const std::size_t stop_end = at + stop.size();
    if (stop_end < end || (stop_end == end && at < begin)) {
      begin = at;
      end = stop_end;
      match_ = stop;
    }
  }
  const std::size_t shown = matched() ? begin : undecided_from();
  std::string out = held_.substr(0, shown);
  held_.erase(0, shown);
  if (matched()) held_.clear();
  return out;
}

std::string StopMatcher::flush() { return std::exchange(held_, {}); }

}  // namespace trtmc
