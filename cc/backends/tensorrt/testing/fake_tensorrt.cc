// A shared library with the two functions that the backend looks for, and nothing of TensorRT
// behind them: for tests of how the library is found and which versions are taken.
#include <cstdint>

#define API extern "C" __attribute__((visibility("default")))

API std::int32_t getInferLibVersion() { return 10701; }
API void* createInferRuntime_INTERNAL(void*, std::int32_t) { return nullptr; }
