// LayeredCache: the cache of a decoder whose layers are alike, read from a contract.
//
// Layer l keeps k_cache_<l> and v_cache_<l>, [batch, kv heads, rows, head size], written back to
// k_out_<l> and v_out_<l>. A family checks its contract with this before it makes its Decoder.
#pragma once

#include <cstdint>
#include <string>

#include "trtmc/contract.h"
#include "trtmc/status.h"

namespace trtmc {

class LayeredCache {
 public:
  // "decoder.bad_cache" (kBadInput) names the first tensor that is not as described.
  static Result<LayeredCache> of(const Contract& contract) {
    LayeredCache cache;
    const std::size_t count = contract.state.size();
    if (count == 0 || count % 2 != 0) {
      return bad("it has " + std::to_string(count) + " state tensors, expected two a layer");
    }
    cache.layers_ = static_cast<std::int64_t>(count / 2);
    for (std::int64_t layer = 0; layer < cache.layers_; ++layer) {
      for (const std::string kind : {"k", "v"}) {
        TRTMC_RETURN_IF_ERROR(cache.check(contract, kind, std::to_string(layer)));
      }
    }
    return cache;
  }

  std::int64_t layers() const { return layers_; }
  std::int64_t kv_heads() const { return kv_heads_; }
  std::int64_t head_dim() const { return head_dim_; }
  DType dtype() const { return dtype_; }

 private:
  static Status bad(const std::string& what) {
    return bad_input("decoder.bad_cache", "the engine's contract has no layered cache: " + what);
  }

  Status check(const Contract& contract, const std::string& kind, const std::string& layer) {
    const std::string input = kind + "_cache_" + layer, output = kind + "_out_" + layer;
    bool paired = false;
    for (const StatePair& pair : contract.state) {
      paired |= pair.input == input && pair.output == output;
    }
    if (!paired) return bad("\"" + input + "\" is not paired with \"" + output + "\"");
    const TensorSpec* spec = contract.find_input(input);
    if (spec == nullptr || spec->shape.size() != 4) {
      return bad("\"" + input + "\" is not an input of rank 4");
    }
    const auto* heads = std::get_if<std::int64_t>(&spec->shape[1]);
    const auto* size = std::get_if<std::int64_t>(&spec->shape[3]);
    if (heads == nullptr || size == nullptr) {
      return bad("\"" + input + "\": heads and head size must be numbers");
    }
    if (kv_heads_ == 0) {
      kv_heads_ = *heads;
      head_dim_ = *size;
      dtype_ = spec->dtype;
    }
    if (kv_heads_ != *heads || head_dim_ != *size || dtype_ != spec->dtype) {
      return bad("\"" + input + "\" differs from layer 0");
    }
    return Status::ok();
  }

  std::int64_t layers_ = 0;
  std::int64_t kv_heads_ = 0;
  std::int64_t head_dim_ = 0;
  DType dtype_ = DType::kFloat32;
};

}  // namespace trtmc
