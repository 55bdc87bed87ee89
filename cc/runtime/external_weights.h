// ExternalWeightManager: the weights that a bundle stores outside of its engines, made ready.
//
// The section is the bundle's memory map. A tensor that an engine wants as it is stored is handed
// out in place: no copy, and pages are read when the engine reads them. A tensor that is cast is
// converted once into memory that all engines share and that goes when the last of them goes.
//
//   ExternalWeightManager manager(bundle);
//   TRTMC_ASSIGN_OR_RETURN(WeightSet set, manager.weights_of(engine));
//   set.tensors.at("model.embed_tokens.weight");
//
// Knows no backend. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "trtmc/bundle.h"
#include "trtmc/weights.h"

namespace trtmc {

class ExternalWeightManager final : public IWeightSource {
 public:
  explicit ExternalWeightManager(std::shared_ptr<const BundleView> bundle)
      : bundle_(std::move(bundle)) {}

  // Errors, beside those of the section (its hash is checked before its first use):
  // "weights.bad_manifest" (kBadInput) for a binding that does not fit what is stored, which a
  // checked bundle cannot have; "weights.out_of_memory" (kResource) names the tensor and its size.
  Result<WeightSet> weights_of(const BundleEngine& engine) override;

 private:
  using Buffer = std::shared_ptr<std::byte>;

  Result<Buffer> converted(const StoredTensor& tensor, std::span<const std::byte> stored, DType to);

  std::shared_ptr<const BundleView> bundle_;
  std::mutex mutex_;
  // By tensor and type: what some engine still uses.
  std::map<std::pair<std::string, DType>, std::weak_ptr<std::byte>> converted_;
};

}  // namespace trtmc
