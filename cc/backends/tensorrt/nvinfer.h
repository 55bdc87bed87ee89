// The Library over TensorRT itself. nvinfer.cc is the one file that needs TensorRT's headers.
#pragma once

#include <memory>
#include <string>

#include "cc/backends/tensorrt/library.h"
#include "cc/backends/tensorrt/library_file.h"

namespace trtmc::tensorrt {

// Version of the headers that this was compiled against: "11.1.0", "RTX 1.7.1".
std::string header_version();

// A runtime of the library. "backend.wrong_library" if it refuses these headers' interface.
Result<std::shared_ptr<Library>> open_library(const LibraryFile& file);

}  // namespace trtmc::tensorrt
