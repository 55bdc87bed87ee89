// A DSO with device code in it.
#include "bazel/private/testdata/cuda/kernels.h"

extern "C" __attribute__((visibility("default"))) int add_one_c(float* data, int count) {
  return add_one(data, count);
}
