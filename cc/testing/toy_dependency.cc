// A library that the table backend's DSO needs, so that tests can try to put another in its place.

#include <cstdio>

#ifdef TOY_CONSTRUCTOR
namespace {
__attribute__((constructor)) void say() { std::fputs(TOY_CONSTRUCTOR "\n", stderr); }
}  // namespace
#endif

extern "C" __attribute__((visibility("default"))) int toy_dependency() { return 42; }
