// GpuMachine: the NVIDIA GPUs of this machine, and whether one of them can run a target.
//
// Asks the driver alone (libcuda.so.1, opened at run time by that name): no CUDA runtime and no
// TensorRT takes part, so the answer is the same whether or not they are installed. Knows nothing
// of bundles.
//
//   const GpuMachine machine = find_gpus();
//   TRTMC_RETURN_IF_ERROR(check_gpu_target(target, machine));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trtmc/status.h"
#include "trtmc/target.h"

namespace trtmc {

struct Gpu {
  int ordinal = 0;
  std::string name;  // "NVIDIA H200"
  int major = 0;     // compute capability
  int minor = 0;
  std::uint64_t memory_bytes = 0;

  std::string capability() const { return std::to_string(major) + "." + std::to_string(minor); }
};

struct GpuMachine {
  bool driver = false;        // the driver's library is there
  std::string driver_version; // "580.159.03", or the CUDA version that it serves; "" without one
  std::string problem;        // why a driver that is there gives no GPU; else ""
  bool hardware = false;      // the system shows an NVIDIA GPU, with or without a driver
  std::vector<Gpu> gpus;      // in the driver's order
};

// Opens `library` the way the system's loader finds it, and looks through the PCI devices. Never
// fails: what is wrong stands in the result. Costs the driver's initialization, some 100 ms where
// there is one.
GpuMachine find_gpus(const std::string& library = "libcuda.so.1",
                     const std::string& pci_devices = "/sys/bus/pci/devices");

// Why nothing can use the NVIDIA GPU that is in this machine, with what to do; "" where the driver
// works, or where there is no such GPU.
std::string unusable_gpu(const GpuMachine& machine);

// Is this a target of a GPU?
bool is_gpu_target(const TargetInfo& target);

// Can `gpu` run engines of `target`? A target without a compute capability is the portable one.
bool serves(const Gpu& gpu, const TargetInfo& target);

// The first GPU of `machine` that can run `target`, or null.
const Gpu* find_fitting(const TargetInfo& target, const GpuMachine& machine);

// Ok if the GPU `device` of `machine` can run `target`; without `device`, if any can. Otherwise
// "load.wrong_target" (kTargetMismatch): what is needed, and what is here.
Status check_gpu_target(const TargetInfo& target, const GpuMachine& machine,
                        std::optional<int> device = std::nullopt);

}  // namespace trtmc
