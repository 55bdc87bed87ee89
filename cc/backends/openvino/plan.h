// Plan: the shapes and places of all values of a Program for one set of input shapes.
#pragma once

#include <vector>

#include "cc/backends/openvino/program.h"

namespace trtmc::openvino {

struct Plan {
  // By value number. `data` of a computed value is unset; its place is offsets[value].
  std::vector<Tensor> values;
  std::vector<std::size_t> offsets;
  std::size_t arena_bytes = 0;

  // `inputs` in the order of program.inputs(). Fails with the name of the node that refuses.
  static Result<Plan> make(const Program& program, const std::vector<Shape>& inputs);
};

}  // namespace trtmc::openvino
