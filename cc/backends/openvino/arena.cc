#include "cc/backends/openvino/arena.h"

#include <algorithm>

namespace trtmc::openvino {

std::size_t ArenaPlan::place(std::size_t bytes, int first, int last) {
  constexpr std::size_t kLine = 64;
  const std::size_t wanted = std::max<std::size_t>(kLine, (bytes + kLine - 1) / kLine * kLine);
  std::erase_if(live_, [&](const Block& b) { return b.last < first; });
  std::size_t begin = 0;
  auto at = live_.begin();
  for (; at != live_.end() && at->begin < begin + wanted; ++at) begin = at->end;
  live_.insert(at, Block{begin, begin + wanted, last});
  size_ = std::max(size_, begin + wanted);
  return begin;
}

}  // namespace trtmc::openvino
