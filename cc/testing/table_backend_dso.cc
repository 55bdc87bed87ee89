// libtrtmc_backend_table.so: the table backend behind the real DSO border, for whole-path tests.

#include <cstdio>
#include <memory>

#include "cc/testing/table_backend.h"
#include "trtmc/export.h"

namespace {

trtmc::Result<std::unique_ptr<trtmc::Backend>> make() {
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
