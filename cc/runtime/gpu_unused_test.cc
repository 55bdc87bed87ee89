// When an answer from the CPU is worth a warning, and what it says.
#include "cc/runtime/gpu_unused.h"

#include <gtest/gtest.h>

namespace trtmc {
namespace {

const TargetInfo kCpu = {"cpu_x86_64", "openvino", "1", {}, {}, "linux", "x86_64"};
const TargetInfo kSm89 = {"sm_89", "tensorrt_rtx", "1", "13.0", "8.9", "linux", "x86_64"};

GpuMachine ada() {
  GpuMachine machine;
  machine.driver = machine.hardware = true;
  machine.gpus = {{0, "Ada", 8, 9, 1}};
  return machine;
}

TargetChoice cpu_instead_of(const TargetInfo& target, const Status& reason) {
  return {kCpu, nullptr, {{target, reason}}};
}

TEST(GpuUnused, NamesWhatIsMissing) {
  const Status missing = missing_component("load.missing_dso", "no backend; install it");
  EXPECT_EQ(gpu_unused(cpu_instead_of(kSm89, missing), ada()),
            "running on the CPU, by the engine for target cpu_x86_64: GPU 0 (Ada) would fit; no "
            "backend; install it");
}

TEST(GpuUnused, AnotherGpuIsNoReasonToWarn) {
  EXPECT_EQ(gpu_unused(cpu_instead_of(kSm89, target_mismatch("x", "8.9, not 9.0")), ada()), "");
}

TEST(GpuUnused, AGpuWithoutItsDriver) {
  const TargetChoice choice = cpu_instead_of(kSm89, target_mismatch("x", "no driver found"));
  GpuMachine machine;
  EXPECT_EQ(gpu_unused(choice, machine), "") << "no NVIDIA GPU at all";
  machine.hardware = true;
  EXPECT_NE(gpu_unused(choice, machine).find("but its driver (libcuda.so.1) is not; install"),
            std::string::npos);
  machine.driver = true;
  EXPECT_EQ(gpu_unused(choice, machine), "") << "the driver hides it, as it was told to";
  machine.problem = "the driver answers CUDA_ERROR_UNKNOWN";
  EXPECT_NE(gpu_unused(choice, machine).find("CUDA_ERROR_UNKNOWN"), std::string::npos);
}

TEST(GpuUnused, NothingToSayWhereTheCpuWasAskedForOrAGpuRuns) {
  GpuMachine machine;
  machine.hardware = true;
  EXPECT_EQ(gpu_unused({kCpu, nullptr, {}}, machine), "");
  const Status missing = missing_component("x", "gone");
  EXPECT_EQ(gpu_unused({kSm89, nullptr, {{kSm89, missing}}}, machine), "");
  EXPECT_EQ(gpu_unused(cpu_instead_of(kCpu, missing), machine), "");
}

}  // namespace
}  // namespace trtmc
