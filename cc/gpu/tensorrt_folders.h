// Where TensorRT's library is looked for: by the GPU backend, which opens it, and by
// `trtmc machine`, which only tells. Opens nothing.
#pragma once

#include <string>
#include <vector>

namespace trtmc {

// `own`, the folder of the backend, then the system's library folders.
std::vector<std::string> tensorrt_folders(const std::string& own);

// The libraries of TensorRT-RTX (libtensorrt_rtx.so.N) and TensorRT (libnvinfer.so.N) in `folders`,
// by full path.
std::vector<std::string> find_tensorrt(const std::vector<std::string>& folders);

}  // namespace trtmc
