// libtrtmc_model_qwen.so: the runtime strategy qwen_decoder_kv_cache. Qwen keeps a layered KV cache and
// nothing else, so all of it is cc/decoder's.

#include "cc/decoder/layered_decoder.h"
#include "trtmc/export.h"

namespace trtmc::qwen {

inline constexpr char kStrategy[] = "qwen_decoder_kv_cache";

class QwenPlugin final : public LayeredDecoderPlugin {
 public:
  QwenPlugin() : LayeredDecoderPlugin(kStrategy) {}
};

}  // namespace trtmc::qwen

TRTMC_EXPORT_MODEL("qwen", trtmc::qwen::kStrategy, trtmc::qwen::QwenPlugin)
