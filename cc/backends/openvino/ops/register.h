// Makes the operator set "trtmc" known to an OpenVINO core.
#pragma once

#include <openvino/runtime/core.hpp>

namespace trtmc::ovops {

void add_operators(ov::Core& core);

}  // namespace trtmc::ovops
