// Writes a float32 matrix as a NumPy .npy file (version 1.0).
#pragma once

#include <cstdint>
#include <string>

#include "trtmc/status.h"

namespace trtmc::cli {

// "cli.unwritable" (kResource); nothing is left behind after a failure.
Status write_npy(const std::string& path, const float* data, std::int64_t rows,
                 std::int64_t columns);

}  // namespace trtmc::cli
