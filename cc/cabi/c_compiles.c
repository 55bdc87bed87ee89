/* The header is plain C, and its structs have the layout that programs were compiled against. */
#include "cc/cabi/trtmc.h"

_Static_assert(offsetof(trtmc_load_options, runtime_root) == 8, "layout");
_Static_assert(sizeof(trtmc_load_options) == 56, "layout");
_Static_assert(offsetof(trtmc_generate_options, temperature) == 8, "layout");
_Static_assert(offsetof(trtmc_generate_options, top_k) == 56, "layout");
_Static_assert(offsetof(trtmc_generate_options, stop) == 80, "layout");
_Static_assert(sizeof(trtmc_generate_options) == 104, "layout");

uint32_t version_through_c(void) { return trtmc_c_api_version(); }
