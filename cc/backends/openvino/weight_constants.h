// External weights of a CPU engine: constants whose bytes the engine file does not hold.
//
// The model has a Parameter for each, named "trtmc.weight.<number>.<dtype>.<shape>:<weight's name>"
// ("trtmc.weight.0.float16.512x256:lm_head.weight"), of a fixed shape: the weight's own, another
// view of it, or its bytes as one row of u8. Before anything looks at the model
// it gets a Constant in its place, over the memory of EngineBlob::weights, which must live as long
// as the model.
#pragma once

#include <cstdint>
#include <openvino/core/model.hpp>

#include "trtmc/status.h"
#include "trtmc/tensor.h"

namespace trtmc::openvino {

// Returns the bytes of the weights in use. "backend.missing_weight" (kBadInput) names the one that
// `weights` lacks; "backend.bad_engine" a Parameter that does not fit its weight.
Result<std::uint64_t> place_weights(ov::Model& model, const TensorMap& weights);

}  // namespace trtmc::openvino
