#include <vector>

#include "cc/backends/tensorrt/kernels/cache_ops.h"

namespace trtmc::tensorrt {

// A place may be overwritten once nobody waits for what is in it. When all that is left waits for
// something, it is cycles: one place of each goes to the temporary first.
int plan_moves(std::span<const std::int32_t> sources, std::span<Move> moves) {
  const auto count = static_cast<std::int32_t>(sources.size());
  std::vector<std::int32_t> from(sources.begin(), sources.end());
  std::vector<int> readers(sources.size(), 0);
  std::vector<bool> open(sources.size());
  for (std::int32_t b = 0; b < count; ++b) {
    open[static_cast<std::size_t>(b)] = from[static_cast<std::size_t>(b)] != b;
    if (open[static_cast<std::size_t>(b)])
      ++readers[static_cast<std::size_t>(from[static_cast<std::size_t>(b)])];
  }
  int used = 0;
  const auto close = [&](std::int32_t b) {
    const auto place = static_cast<std::size_t>(b);
    moves[static_cast<std::size_t>(used++)] = {b, from[place]};
    open[place] = false;
    if (from[place] != kTemporary) --readers[static_cast<std::size_t>(from[place])];
  };
  for (bool any = true; any;) {
    any = false;
    for (std::int32_t b = 0; b < count; ++b) {
      if (open[static_cast<std::size_t>(b)] && readers[static_cast<std::size_t>(b)] == 0) {
        close(b);
        any = true;
      }
    }
    if (any) continue;
    for (std::int32_t b = 0; b < count && !any; ++b) {
      if (!open[static_cast<std::size_t>(b)]) continue;
      // In a cycle each place has one reader. b's contents go aside, and b's reader takes them
      // there.
      moves[static_cast<std::size_t>(used++)] = {kTemporary, b};
      for (std::int32_t reader = 0; reader < count; ++reader) {
        const auto r = static_cast<std::size_t>(reader);
        if (open[r] && from[r] == b) from[r] = kTemporary;
      }
      readers[static_cast<std::size_t>(b)] = 0;
      any = true;
    }
  }
  return used;
}

}  // namespace trtmc::tensorrt
