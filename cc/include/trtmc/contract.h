// Contract: what an engine takes and gives, as written in a bundle next to it.
//
// Plain data. Reading it from JSON is cc/bundle's job; comparing it with the engine is a
// backend's; filling the tensors is a model's. Names are unique within inputs and outputs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trtmc/dtype.h"
#include "trtmc/status.h"
#include "trtmc/tensor.h"

namespace trtmc {

// A fixed size, or the name of a dynamic one such as "batch".
using Dim = std::variant<std::int64_t, std::string>;

struct TensorSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<Dim> shape;  // at most kMaxRank
};

// `output` is written to the memory of `input`: one tensor, bound once, updated in place.
struct StatePair {
  std::string input;
  std::string output;
};

struct DimRange {
  std::int64_t min = 1;
  std::int64_t opt = 1;
  std::int64_t max = 1;
};

// Ranges of the dynamic dimensions that one optimization profile serves.
struct Profile {
  std::string name;  // "context", "generation"
  std::map<std::string, DimRange, std::less<>> dims;
};

struct Limits {
  std::int64_t max_batch = 1;
  std::int64_t max_sequence = 0;
};

struct Contract {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<StatePair> state;
  std::vector<Profile> profiles;
  Limits limits;

  const TensorSpec* find_input(std::string_view name) const { return find(inputs, name); }
  const TensorSpec* find_output(std::string_view name) const { return find(outputs, name); }
  const Profile* find_profile(std::string_view name) const { return find(profiles, name); }

 private:
  template <class T>
  static const T* find(const std::vector<T>& all, std::string_view name) {
    for (const T& one : all) {
      if (one.name == name) return &one;
    }
    return nullptr;
  }
};

// The concrete shape of `spec` with its named dimensions taken from `dims`; a name that is not
// there is an error ("contract.unbound_dimension").
inline Result<Shape> resolve_shape(const TensorSpec& spec,
                                   const std::map<std::string, std::int64_t, std::less<>>& dims) {
  Shape shape;
  for (const Dim& dim : spec.shape) {
    if (const auto* fixed = std::get_if<std::int64_t>(&dim)) {
      shape.push_back(*fixed);
      continue;
    }
    const auto& name = std::get<std::string>(dim);
    const auto it = dims.find(name);
    if (it == dims.end()) {
      return internal_error("contract.unbound_dimension", "tensor \"" + spec.name +
                            "\": dimension \"" + name + "\" has no value");
    }
    shape.push_back(it->second);
  }
  return shape;
}

}  // namespace trtmc
