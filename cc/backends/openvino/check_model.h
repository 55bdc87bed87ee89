// Checks that an engine's model is what its contract says, before anything runs.
#pragma once

#include <openvino/core/model.hpp>

#include "trtmc/contract.h"

namespace trtmc::openvino {

// "backend.contract_mismatch" names the first input, output or cache that differs.
Status check_model(const ov::Model& model, const Contract& contract);

}  // namespace trtmc::openvino
