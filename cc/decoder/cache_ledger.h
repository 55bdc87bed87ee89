// CacheLedger: which ids the rows of a KV cache hold, per sequence of a batch.
//
// Pure bookkeeping over numbers. Rollback and reset only shorten; the engine overwrites rows that
// no longer count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trtmc {

class CacheLedger {
 public:
  CacheLedger(std::int64_t batch, std::int64_t capacity)
      : capacity_(capacity), ids_(static_cast<std::size_t>(batch)) {}

  std::int64_t batch() const { return static_cast<std::int64_t>(ids_.size()); }
  std::int64_t capacity() const { return capacity_; }

  std::int64_t length(std::int64_t sequence) const {
    return static_cast<std::int64_t>(of(sequence).size());
  }
  std::span<const std::int32_t> ids(std::int64_t sequence) const { return of(sequence); }

  std::int64_t longest() const {
    std::int64_t most = 0;
    for (std::int64_t b = 0; b < batch(); ++b) most = length(b) > most ? length(b) : most;
    return most;
  }

  void append(std::int64_t sequence, std::span<const std::int32_t> ids) {
    of(sequence).insert(of(sequence).end(), ids.begin(), ids.end());
  }

  // Keeps the first `length` ids; a longer or negative length changes nothing and gives false.
  bool rollback(std::int64_t sequence, std::int64_t length) {
    if (length < 0 || length > this->length(sequence)) return false;
    of(sequence).resize(static_cast<std::size_t>(length));
    return true;
  }

  void reset() {
    for (auto& ids : ids_) ids.clear();
  }

  // How many of the first ids of `prompt` the cache holds already.
  std::int64_t common_prefix(std::int64_t sequence, std::span<const std::int32_t> prompt) const {
    const auto& held = of(sequence);
    std::size_t n = 0;
    while (n < held.size() && n < prompt.size() && held[n] == prompt[n]) ++n;
    return static_cast<std::int64_t>(n);
  }

 private:
  std::vector<std::int32_t>& of(std::int64_t b) { return ids_[static_cast<std::size_t>(b)]; }
  const std::vector<std::int32_t>& of(std::int64_t b) const {
    return ids_[static_cast<std::size_t>(b)];
  }

  std::int64_t capacity_;
  std::vector<std::vector<std::int32_t>> ids_;
};

}  // namespace trtmc
