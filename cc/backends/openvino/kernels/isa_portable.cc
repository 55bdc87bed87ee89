// The kernels compiled for any x86-64.
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "cc/backends/openvino/kernels/table.h"
#include "cc/backends/openvino/kernels/simd_portable.h"

namespace trtmc::cpu {
namespace portable {
namespace {

#include "cc/backends/openvino/kernels/body_math.h"
#include "cc/backends/openvino/kernels/body_gemv.h"
#include "cc/backends/openvino/kernels/body_gemm.h"
#include "cc/backends/openvino/kernels/body_attention.h"

KernelTable make_table() {
  KernelTable t{};
  t.isa = Isa::kPortable;
#include "cc/backends/openvino/kernels/body_table.h"
  return t;
}

}  // namespace
}  // namespace portable

const KernelTable& portable_table() {
  static const KernelTable table = portable::make_table();
  return table;
}

}  // namespace trtmc::cpu
