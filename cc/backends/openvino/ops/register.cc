#include "cc/backends/openvino/ops/register.h"

#include "cc/backends/openvino/ops/attention_op.h"
#include "cc/backends/openvino/ops/elementwise_ops.h"
#include "cc/backends/openvino/ops/linear_op.h"

namespace trtmc::ovops {

void add_operators(ov::Core& core) {
  core.add_extension<Linear>();
  core.add_extension<EmbeddingGather>();
  core.add_extension<RmsNorm>();
  core.add_extension<GatedActivation>();
  core.add_extension<Add>();
  core.add_extension<GatherRows>();
  core.add_extension<Attention>();
}

}  // namespace trtmc::ovops
