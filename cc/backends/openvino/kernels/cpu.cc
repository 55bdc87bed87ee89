#include "cc/backends/openvino/kernels/cpu.h"

#include <cpuid.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>

namespace trtmc::cpu {
namespace {

constexpr int kArchRequestXcompPermission = 0x1023;
constexpr int kXfeatureTileData = 18;

struct Leaf7 {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf7 leaf7(unsigned sub) {
  Leaf7 r;
  if (!__get_cpuid_count(7, sub, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
  return r;
}

std::uint64_t xcr0() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
  unsigned lo = 0, hi = 0;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return (static_cast<std::uint64_t>(hi) << 32) | lo;
}

bool request_amx() {
  return syscall(SYS_arch_prctl, kArchRequestXcompPermission, kXfeatureTileData) == 0;
}

Isa detect() {
  __builtin_cpu_init();
  const std::uint64_t state = xcr0();
  const bool ymm = (state & 0x6) == 0x6;
  const bool zmm = (state & 0xE6) == 0xE6;
  const bool tiles = (state & 0x60000) == 0x60000;
  unsigned a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &a, &b, &c, &d);
  const bool f16c = (c & bit_F16C) != 0;
  if (!ymm || !f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return Isa::kPortable;
  }
  if (!zmm || !__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq")) {
    return Isa::kAvx2;
  }
  const unsigned amx = leaf7(0).edx;
  const bool amx_tile = (amx >> 24) & 1, amx_bf16 = (amx >> 22) & 1;
  if (!tiles || !amx_tile || !amx_bf16 || !request_amx()) return Isa::kAvx512;
  return Isa::kAmx;
}

std::atomic<int>& forced() {
  static std::atomic<int> level{static_cast<int>(Isa::kAmx)};
  return level;
}

// "max 100000" or "150000 100000" in cgroup v2; 0 if there is no quota.
double cgroup_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::atof(quota.c_str()) / period;
}

}  // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kPortable: return "portable";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512: return "avx512";
    case Isa::kAmx: return "amx";
  }
  return "unknown";
}

Isa detected_isa() {
  static const Isa isa = detect();
  return isa;
}

bool has_avx512_bf16() {
  static const bool has = detected_isa() >= Isa::kAvx512 && ((leaf7(1).eax >> 5) & 1);
  return has;
}

bool prefers_avx512_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!has_avx512_bf16() || !__get_cpuid(0, &a, &b, &c, &d)) return false;
  return b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
}

Isa active_isa() {
  return std::min(detected_isa(), static_cast<Isa>(forced().load(std::memory_order_relaxed)));
}

void force_isa(Isa isa) { forced().store(static_cast<int>(isa), std::memory_order_relaxed); }

std::vector<Isa> available_isas() {
  std::vector<Isa> all;
  for (int i = 0; i <= static_cast<int>(detected_isa()); ++i) all.push_back(static_cast<Isa>(i));
  return all;
}

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int count = 1;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) count = std::max(1, CPU_COUNT(&set));
  const double quota = cgroup_quota();
  if (quota > 0) count = std::min(count, std::max(1, static_cast<int>(std::floor(quota + 0.5))));
  return count;
}

}  // namespace trtmc::cpu
