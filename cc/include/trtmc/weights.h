// Where the external weights of an engine come from: the runtime's side of BundleEngine::weights.
//
// The runtime implements it over a bundle; a model hands the result on to the backend. Nothing
// here knows how weights are stored.
#pragma once

#include <memory>

#include "trtmc/bundle.h"
#include "trtmc/status.h"
#include "trtmc/tensor.h"

namespace trtmc {

// Dense host tensors by input name, converted to what the engine declares, read-only.
struct WeightSet {
  TensorMap tensors;
  std::shared_ptr<const void> keepalive;  // owns what the tensors point to
};

class IWeightSource {
 public:
  virtual ~IWeightSource() = default;

  // Thread-safe. The hash of the stored weights is checked before their first use; a tensor that
  // several engines want in the same form is converted once.
  virtual Result<WeightSet> weights_of(const BundleEngine& engine) = 0;
};

}  // namespace trtmc
