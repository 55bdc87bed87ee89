// What the runtime says about the GPUs of a machine, over a driver that is not there, broken, or a
// stand-in with GPUs by name.
#include "cc/gpu/machine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace trtmc {
namespace {

const TargetInfo kSm89 = {"sm_89", "tensorrt_rtx", "1.7.1", "13.0", "8.9", "linux", "x86_64"};
const TargetInfo kPortable = {"rtx_portable", "tensorrt_rtx", "1.7.1", "13.0", {},
                              "linux",        "x86_64"};
const TargetInfo kCpu = {"cpu_x86_64", "openvino", "2026.4.1", {}, {}, "linux", "x86_64"};

GpuMachine fake(const std::string& gpus) {
  ::setenv("TRTMC_FAKE_GPUS", gpus.c_str(), 1);
  const char* built = std::getenv("TRTMC_FAKE_DRIVER");
  return find_gpus(built ? built : "cc/gpu/libfake_cuda.so");
}

std::string refusal(const TargetInfo& target, const GpuMachine& machine, std::optional<int> device = {}) {
  const Status status = check_gpu_target(target, machine, device);
  EXPECT_EQ(status.code(), "load.wrong_target");
  EXPECT_EQ(status.exit_code(), 5);
  return std::string(status.message());
}

TEST(MachineTest, WithoutADriver) {
  const GpuMachine machine = find_gpus("libno_such_driver.so.1", "/no/such/folder");
  EXPECT_FALSE(machine.driver);
  EXPECT_EQ(refusal(kSm89, machine),
            "target sm_89 needs an NVIDIA GPU of compute capability 8.9; no driver found");
  EXPECT_EQ(refusal(kPortable, machine),
            "target rtx_portable needs an NVIDIA GPU of compute capability 8.0, 8.6, 8.9 or 12.x; "
            "no driver found");
}

TEST(MachineTest, AGpuWithoutItsDriverIsSeenOnThePciBus) {
  const std::filesystem::path pci = std::filesystem::path(::testing::TempDir()) / "pci";
  const auto device = [&](const char* name, const char* vendor, const char* device_class) {
    std::filesystem::create_directories(pci / name);
    std::ofstream(pci / name / "vendor") << vendor << "\n";
    std::ofstream(pci / name / "class") << device_class << "\n";
  };
  device("0000:00:01.0", "0x8086", "0x030000");  // another maker's display
  device("0000:01:00.1", "0x10de", "0x040300");  // the sound part of an NVIDIA card
  EXPECT_FALSE(find_gpus("libno_such_driver.so.1", pci).hardware);
  device("0000:02:00.0", "0x10de", "0x030200");
  const GpuMachine machine = find_gpus("libno_such_driver.so.1", pci);
  EXPECT_TRUE(machine.hardware);
  EXPECT_NE(refusal(kSm89, machine).find("no driver found: an NVIDIA GPU is here, but its driver "
                                         "(libcuda.so.1) is not; install NVIDIA's driver"),
            std::string::npos);
  EXPECT_EQ(unusable_gpu(fake("One/8.9")), "");
  EXPECT_EQ(unusable_gpu(fake("!999")), "the driver answers CUDA_ERROR_FOR_TESTS");
}

TEST(MachineTest, ReadsTheGpusOfTheDriver) {
  const GpuMachine machine = fake("One/8.9,Two/12.0");
  ASSERT_EQ(machine.gpus.size(), 2u);
  EXPECT_TRUE(machine.driver);
  EXPECT_FALSE(machine.driver_version.empty());
  EXPECT_EQ(machine.gpus[1].name, "Two");
  EXPECT_EQ(machine.gpus[1].capability(), "12.0");
  EXPECT_EQ(machine.gpus[1].ordinal, 1);
  EXPECT_EQ(machine.gpus[0].memory_bytes, std::uint64_t{8} << 30);
}

TEST(MachineTest, NamesBothCapabilities) {
  EXPECT_EQ(refusal(kSm89, fake("NVIDIA H200/9.0")),
            "target sm_89 needs an NVIDIA GPU of compute capability 8.9; GPU 0 (NVIDIA H200) has "
            "9.0; build the bundle for this GPU's target");
}

TEST(MachineTest, NamesTheGpuThatWouldFit) {
  const GpuMachine machine = fake("Big/9.0,Small/8.9");
  EXPECT_TRUE(check_gpu_target(kSm89, machine).is_ok());
  EXPECT_TRUE(check_gpu_target(kSm89, machine, 1).is_ok());
  EXPECT_NE(refusal(kSm89, machine, 0).find("GPU 0 (Big) has 9.0; choose GPU 1"),
            std::string::npos);
  EXPECT_NE(refusal(kSm89, machine, 2).find("there is no GPU 2 (GPU 0 (Big) has 9.0, GPU 1"),
            std::string::npos);
}

TEST(MachineTest, DriverWithoutGpus) {
  EXPECT_NE(refusal(kSm89, fake("")).find("; the driver finds no GPU"), std::string::npos);
  EXPECT_NE(refusal(kSm89, fake("!100")).find("; the driver finds no GPU"), std::string::npos);
}

TEST(MachineTest, BrokenDriver) {
  EXPECT_NE(refusal(kSm89, fake("!999")).find("the driver answers CUDA_ERROR_FOR_TESTS"),
            std::string::npos);
  const GpuMachine machine = find_gpus("libm.so.6");
  EXPECT_NE(refusal(kSm89, machine).find("libm.so.6 lacks functions of the CUDA driver"),
            std::string::npos);
}

TEST(MachineTest, PortableEnginesRunOnAmpereAndLater) {
  for (const char* good : {"a/8.0", "a/8.6", "a/8.9", "a/12.0", "a/12.1"}) {
    EXPECT_TRUE(check_gpu_target(kPortable, fake(good)).is_ok()) << good;
  }
  for (const char* bad : {"a/7.5", "a/8.7", "a/9.0", "a/10.0", "a/11.0"})
    refusal(kPortable, fake(bad));
}

TEST(MachineTest, KnowsTargetsOfGpus) {
  EXPECT_TRUE(is_gpu_target(kSm89));
  EXPECT_TRUE(is_gpu_target(kPortable));
  EXPECT_FALSE(is_gpu_target(kCpu));
}

}  // namespace
}  // namespace trtmc
