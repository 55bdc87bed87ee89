#include "cc/backends/openvino/kernels/table.h"

#include "cc/backends/openvino/kernels/gemm_amx.h"
#include "cc/backends/openvino/kernels/gemm_bf16.h"

namespace trtmc::cpu {
namespace {

const KernelTable& avx512_best_table() {
  static const KernelTable table = [] {
    KernelTable t = avx512_table();
    if (prefers_avx512_bf16()) t.fast = bf16_gemm();
    return t;
  }();
  return table;
}

const KernelTable& amx_table() {
  static const KernelTable table = [] {
    KernelTable t = avx512_table();
    t.isa = Isa::kAmx;
    t.exact = amx_gemm_exact();
    t.fast = amx_gemm_fast();
    return t;
  }();
  return table;
}

}  // namespace

const KernelTable& kernels() {
  switch (active_isa()) {
    case Isa::kPortable: return portable_table();
    case Isa::kAvx2: return avx2_table();
    case Isa::kAvx512: return avx512_best_table();
    case Isa::kAmx: return amx_table();
  }
  return portable_table();
}

}  // namespace trtmc::cpu
