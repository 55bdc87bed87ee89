// libtrtmc_model_mistral.so: the runtime strategy mistral_decoder_kv_cache. Mistral keeps a layered KV cache and
// nothing else, so all of it is cc/decoder's.

#include "cc/decoder/layered_decoder.h"
#include "trtmc/export.h"

namespace trtmc::mistral {

inline constexpr char kStrategy[] = "mistral_decoder_kv_cache";

class MistralPlugin final : public LayeredDecoderPlugin {
 public:
  MistralPlugin() : LayeredDecoderPlugin(kStrategy) {}
};

}  // namespace trtmc::mistral

TRTMC_EXPORT_MODEL("mistral", trtmc::mistral::kStrategy, trtmc::mistral::MistralPlugin)
