// LlamaKvCache: the shape of the cache that Llama engines keep, checked once at load.
//
// Llama caches keys and values of every layer alike; the memory itself is cc/decoder's.
#pragma once

#include <cstdint>

#include "cc/decoder/layered_cache.h"
#include "trtmc/contract.h"
#include "trtmc/status.h"

namespace trtmc::llama {

class LlamaKvCache {
 public:
  // "decoder.bad_cache" (kBadInput) if the contract is not that of a Llama engine.
  static Result<LlamaKvCache> of(const Contract& contract) {
    TRTMC_ASSIGN_OR_RETURN(const LayeredCache layout, LayeredCache::of(contract));
    return LlamaKvCache(layout);
  }

  std::int64_t layers() const { return layout_.layers(); }
  std::int64_t kv_heads() const { return layout_.kv_heads(); }
  std::int64_t head_dim() const { return layout_.head_dim(); }

 private:
  explicit LlamaKvCache(const LayeredCache& layout) : layout_(layout) {}

  LayeredCache layout_;
};

}  // namespace trtmc::llama
