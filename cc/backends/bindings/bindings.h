// Bindings: the tensors that a caller bound to an engine's inputs, checked against its contract.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trtmc/backend.h"

namespace trtmc {

// Which memory a backend takes.
enum class BindingMemory {
  kHost,         // host memory alone
  kDeviceState,  // state on the device, every other tensor on the host or on the device
};

using DimSizes = std::map<std::string, std::int64_t, std::less<>>;

class Bindings {
 public:
  // `contract` must outlive this.
  explicit Bindings(const Contract& contract, BindingMemory memory = BindingMemory::kHost);

  // "backend.bad_binding" for an unknown name, or a type, rank, size or memory that is forbidden.
  Status bind(std::string_view name, const Tensor& tensor);

  // By place in contract.inputs; data and shape are empty until bound.
  const Tensor& input(std::size_t index) const { return slots_[index].tensor; }
  std::size_t index_of(std::string_view input) const;  // npos if there is none
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  // Collects the sizes of the named dimensions, in a fixed order. "backend.unbound_input" names
  // an input without a tensor; "backend.bad_binding" a dimension with two sizes.
  Result<std::vector<std::int64_t>> sizes() const;

  // The same by name, for resolve_shape(); `sizes` as sizes() gave them.
  DimSizes by_name(const std::vector<std::int64_t>& sizes) const;

  // "backend.outside_profile" (kInternal) names the dimension, its size and the profile's range.
  Status check_range(const Profile& profile, const std::vector<std::int64_t>& sizes) const;

  bool is_state(std::size_t index) const { return slots_[index].state; }

  // Place of the state input that is paired with this output, or npos.
  std::size_t state_input(std::string_view output) const;

  Status check_profile(std::string_view name) const;

 private:
  struct Slot {
    Tensor tensor;
    bool bound = false;
    bool state = false;
    std::vector<int> dims;  // per axis: number of the named dimension, or -1 if fixed
  };

  Status check_memory(const TensorSpec& spec, const Slot& slot, const Tensor& tensor) const;

  const Contract* contract_;
  BindingMemory memory_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<std::string> dim_names_;
  std::vector<Slot> slots_;
};

}  // namespace trtmc
