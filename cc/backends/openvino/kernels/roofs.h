// What this machine can do at most, for the benchmarks to compare with.
#pragma once

namespace trtmc::cpu {

// Prints peak GFLOP/s of float32 FMA and of AMX bfloat16 products, and GB/s of reading memory, of
// one thread.
void print_roofs();

}  // namespace trtmc::cpu
