// libtrtmc_backend_table.so: the table backend behind the real DSO border, for whole-path tests.
//
// It needs a second library, as real backends do. With TOY_CONSTRUCTOR loading it prints that word.

#include <cstdio>
#include <memory>

#include "cc/testing/table_backend.h"
#include "trtmc/export.h"

extern "C" int toy_dependency();

namespace {

trtmc::Result<std::unique_ptr<trtmc::Backend>> make() {
  if (toy_dependency() != 42) return trtmc::internal_error("table.dependency", "wrong library");
  return std::make_unique<trtmc::testing::TableBackend>(
      std::make_shared<trtmc::testing::RunLog>());
}

}  // namespace

#ifdef TOY_CONSTRUCTOR
namespace {
__attribute__((constructor)) void say() { std::fputs(TOY_CONSTRUCTOR "\n", stderr); }
}  // namespace
#endif

TRTMC_EXPORT_BACKEND("table", make)
