#include "cc/gpu/machine.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace trtmc {
namespace {

// The part of the driver's C interface that is used here. These numbers are the interface's own.
constexpr int kSuccess = 0;
constexpr int kMajorAttribute = 75;
constexpr int kMinorAttribute = 76;
constexpr int kNoDevice = 100;

struct CloseLibrary {
  void operator()(void* handle) const { ::dlclose(handle); }
};

class Driver {
 public:
  explicit Driver(const std::string& library)
      : handle_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
    if (!handle_) return;
    complete_ = load("cuInit", init) & load("cuDriverGetVersion", version) &
                load("cuDeviceGetCount", count) & load("cuDeviceGet", device) &
                load("cuDeviceGetName", name) & load("cuDeviceGetAttribute", attribute) &
                load("cuDeviceTotalMem_v2", memory) & load("cuGetErrorName", error_name);
  }

  bool found() const { return handle_ != nullptr; }
  bool complete() const { return complete_; }

  std::string text(int error) const {
    const char* name = nullptr;
    if (error_name(error, &name) != kSuccess || name == nullptr) return std::to_string(error);
    return name;
  }

  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*count)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*memory)(std::size_t*, int) = nullptr;
  int (*error_name)(int, const char**) = nullptr;

 private:
  template <class Function>
  bool load(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle_.get(), symbol));
    return function != nullptr;
  }

  std::unique_ptr<void, CloseLibrary> handle_;
  bool complete_ = false;
};

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  …" has the release; where the file
// is missing (WSL), the CUDA version that the driver serves stands for it.
std::string release_of(const Driver& driver) {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line, word;
  std::getline(file, line);
  for (std::istringstream words(line); words >> word;) {
    const bool digits = std::all_of(word.begin(), word.end(),
                                    [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
    if (digits && word.find('.') != std::string::npos) return word;
  }
  int version = 0;
  if (driver.version(&version) != kSuccess) return "unknown";
  return "cuda-" + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Gpu describe(const Driver& driver, int ordinal) {
  Gpu gpu;
  gpu.ordinal = ordinal;
  int device = 0;
  char name[256] = {};
  std::size_t bytes = 0;
  if (driver.device(&device, ordinal) != kSuccess) return gpu;
  if (driver.name(name, sizeof name - 1, device) == kSuccess) gpu.name = name;
  driver.attribute(&gpu.major, kMajorAttribute, device);
  driver.attribute(&gpu.minor, kMinorAttribute, device);
  if (driver.memory(&bytes, device) == kSuccess) gpu.memory_bytes = bytes;
  return gpu;
}

std::string first_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// PCI class 0x03: display controllers, which data center GPUs are, too.
bool shows_nvidia_gpu(const std::string& pci_devices) {
  std::error_code error;
  for (const auto& device : std::filesystem::directory_iterator(pci_devices, error)) {
    if (first_line(device.path() / "vendor") == "0x10de" &&
        first_line(device.path() / "class").starts_with("0x03")) {
      return true;
    }
  }
  return false;
}

std::string need_of(const TargetInfo& target) {
  return "target " + target.name + " needs an NVIDIA GPU of compute capability " +
         target.compute_capability.value_or("8.0, 8.6, 8.9 or 12.x");
}

std::string here(const Gpu& gpu) {
  return "GPU " + std::to_string(gpu.ordinal) + " (" + gpu.name + ") has " + gpu.capability();
}

}  // namespace

GpuMachine find_gpus(const std::string& library, const std::string& pci_devices) {
  GpuMachine machine;
  machine.hardware = shows_nvidia_gpu(pci_devices);
  const Driver driver(library);
  machine.driver = driver.found();
  if (!machine.driver) return machine;
  if (!driver.complete()) {
    machine.problem = library + " lacks functions of the CUDA driver";
    return machine;
  }
  int count = 0;
  int error = driver.init(0);
  if (error == kSuccess) error = driver.count(&count);
  if (error != kSuccess && error != kNoDevice) {
    machine.problem = "the driver answers " + driver.text(error);
    return machine;
  }
  machine.driver_version = release_of(driver);
  for (int i = 0; i < count; ++i) machine.gpus.push_back(describe(driver, i));
  return machine;
}

bool is_gpu_target(const TargetInfo& target) {
  return target.compute_capability.has_value() || target.compiler == "tensorrt" ||
         target.compiler == "tensorrt_rtx";
}

bool serves(const Gpu& gpu, const TargetInfo& target) {
  if (target.compute_capability) return gpu.capability() == *target.compute_capability;
  const bool ampere = gpu.major == 8 && (gpu.minor == 0 || gpu.minor == 6 || gpu.minor == 9);
  return ampere || gpu.major == 12;
}

std::string unusable_gpu(const GpuMachine& machine) {
  if (!machine.problem.empty()) return machine.problem;
  if (machine.driver || !machine.hardware) return "";
  return "its driver (libcuda.so.1) is not; install NVIDIA's driver, or start the container with "
         "the GPU (docker run --gpus all)";
}

const Gpu* find_fitting(const TargetInfo& target, const GpuMachine& machine) {
  const auto it = std::find_if(machine.gpus.begin(), machine.gpus.end(),
                               [&](const Gpu& gpu) { return serves(gpu, target); });
  return it == machine.gpus.end() ? nullptr : &*it;
}

Status check_gpu_target(const TargetInfo& target, const GpuMachine& machine,
                        std::optional<int> device) {
  const auto refuse = [&](const std::string& what) {
    return target_mismatch("load.wrong_target", need_of(target) + "; " + what);
  };
  if (!machine.driver && machine.hardware) {
    return refuse("no driver found: an NVIDIA GPU is here, but " + unusable_gpu(machine));
  }
  if (!machine.driver) return refuse("no driver found");
  if (!machine.problem.empty()) return refuse("no GPU can be used: " + machine.problem);
  if (machine.gpus.empty()) return refuse("the driver finds no GPU");
  std::string found;
  for (const Gpu& gpu : machine.gpus) found += (found.empty() ? "" : ", ") + here(gpu);
  const Gpu* const fitting = find_fitting(target, machine);
  if (!device) {
    if (fitting != nullptr) return Status::ok();
    return refuse(found + "; build the bundle for this GPU's target");
  }
  if (*device < 0 || *device >= static_cast<int>(machine.gpus.size())) {
    return refuse("there is no GPU " + std::to_string(*device) + " (" + found + ")");
  }
  const Gpu& asked = machine.gpus[static_cast<std::size_t>(*device)];
  if (serves(asked, target)) return Status::ok();
  if (fitting != nullptr) {
    return refuse(here(asked) + "; choose GPU " + std::to_string(fitting->ordinal));
  }
  return refuse(found + "; build the bundle for this GPU's target");
}

}  // namespace trtmc
