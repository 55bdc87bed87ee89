// libtrtmc_model_llama.so: the runtime strategy llama_decoder_kv_cache. Llama keeps a layered KV cache and
// nothing else, so all of it is cc/decoder's.

#include "cc/decoder/layered_decoder.h"
#include "trtmc/export.h"

namespace trtmc::llama {

inline constexpr char kStrategy[] = "llama_decoder_kv_cache";

class LlamaPlugin final : public LayeredDecoderPlugin {
 public:
  LlamaPlugin() : LayeredDecoderPlugin(kStrategy) {}
};

}  // namespace trtmc::llama

TRTMC_EXPORT_MODEL("llama", trtmc::llama::kStrategy, trtmc::llama::LlamaPlugin)
