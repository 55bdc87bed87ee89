// Which instruction sets the kernels may use on this machine.
//
// Decided once, at run time, from cpuid and the operating system's state; tests and benchmarks can
// force a lower level to exercise every path that the machine has. Knows no kernel.
#pragma once

#include <string_view>
#include <vector>

namespace trtmc::cpu {

// Ordered: a machine that has one level has all below it.
enum class Isa : int {
  kPortable = 0,  // any x86-64
  kAvx2 = 1,      // AVX2, FMA, F16C
  kAvx512 = 2,    // AVX-512 F/BW/VL/DQ
  kAmx = 3,       // the above and AMX-BF16, granted by the kernel
};

std::string_view isa_name(Isa isa);

// The highest level of this machine. Asking for AMX the first time requests the permission for
// tile data from the operating system; a refusal means kAvx512.
Isa detected_isa();

// AVX512_BF16 (a 512-bit bfloat16 dot product); independent of the level order.
bool has_avx512_bf16();

// Whether that dot product beats float32 FMA: twice its rate on AMD, 0.6 of it on Intel (measured).
bool prefers_avx512_bf16();

// The level in use: detected_isa(), or a lower one set by force_isa().
Isa active_isa();

// For tests and benchmarks only: not thread-safe. A level above detected_isa() is clamped.
void force_isa(Isa isa);

// All levels from kPortable to detected_isa().
std::vector<Isa> available_isas();

// CPUs that this process may use: the affinity mask, lowered to a cgroup quota if there is one.
int usable_cpus();

}  // namespace trtmc::cpu
