// A stand-in for libcuda.so.1 in tests of what the runtime says about GPUs. It has no GPU to run
// anything on. TRTMC_FAKE_GPUS is a list "name/major.minor,…"; "!N" makes cuInit fail with N.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Fake {
  std::string name;
  int major = 0, minor = 0;
};

std::string setting() {
  const char* text = std::getenv("TRTMC_FAKE_GPUS");
  return text == nullptr ? "" : text;
}

std::vector<Fake> gpus() {
  std::vector<Fake> all;
  std::string text = setting();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string one = text.substr(begin, end - begin);
    Fake fake;
    fake.name = one.substr(0, one.find('/'));
    std::sscanf(one.c_str() + one.find('/') + 1, "%d.%d", &fake.major, &fake.minor);
    all.push_back(fake);
    begin = end + 1;
  }
  return all;
}

}  // namespace

#define API extern "C" __attribute__((visibility("default"))) int

API cuInit(unsigned) { return setting().starts_with("!") ? std::atoi(setting().c_str() + 1) : 0; }
API cuDriverGetVersion(int* version) { return *version = 13000, 0; }
API cuDeviceGetCount(int* count) { return *count = static_cast<int>(gpus().size()), 0; }
API cuDeviceGet(int* device, int ordinal) { return *device = ordinal, 0; }
API cuDeviceGetName(char* name, int length, int device) {
  std::snprintf(name, static_cast<std::size_t>(length), "%s",
                gpus()[static_cast<std::size_t>(device)].name.c_str());
  return 0;
}
API cuDeviceGetAttribute(int* value, int attribute, int device) {
  const Fake fake = gpus()[static_cast<std::size_t>(device)];
  *value = attribute == 75 ? fake.major : attribute == 76 ? fake.minor : 0;
  return 0;
}
API cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = std::size_t{8} << 30, 0; }
API cuGetErrorName(int, const char** name) { return *name = "CUDA_ERROR_FOR_TESTS", 0; }
