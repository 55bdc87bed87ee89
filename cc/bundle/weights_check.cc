// Weights outside of the engines: the relations that python/trtmc/bundle/stored_weights.py has too.

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cc/bundle/header.h"
#include "cc/bundle/json.h"
#include "cc/bundle/layout.h"
#include "cc/bundle/rules.h"

namespace trtmc::bundle {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();

// Exact, or nothing if the number does not fit 63 bits.
std::optional<std::uint64_t> elements(const Shape& shape) {
  std::uint64_t count = 1;
  for (std::int64_t dim : shape.dims()) {
    const auto factor = static_cast<std::uint64_t>(dim);
    if (count > kMost / factor) return std::nullopt;
    count *= factor;
  }
  return count;
}

std::optional<std::uint64_t> stored_bytes(const StoredTensor& tensor) {
  const auto count = elements(tensor.shape);
  const auto size = static_cast<std::uint64_t>(dtype_bits(tensor.dtype) / 8);
  if (!count || *count > kMost / size) return std::nullopt;
  return *count * size;
}

bool castable(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// The one legal recipe, or nothing if there is none. The stored tensor's size is known to fit.
std::optional<std::vector<WeightStep>> steps_between(const StoredTensor& tensor,
                                                     const WeightBinding& binding) {
  if (elements(tensor.shape) != elements(binding.shape)) return std::nullopt;
  const bool same_dtype = tensor.dtype == binding.dtype;
  if (!same_dtype && !(castable(tensor.dtype) && castable(binding.dtype))) return std::nullopt;
  std::vector<WeightStep> steps;
  if (!(tensor.shape == binding.shape)) steps.push_back(WeightStep::kReshape);
  if (!same_dtype) steps.push_back(WeightStep::kCast);
  return steps;
}

std::string steps_text(const std::vector<WeightStep>& steps) {
  std::string text;
  for (WeightStep step : steps) {
    text += (text.empty() ? "" : ", ") + std::string(step == WeightStep::kCast ? "cast" : "reshape");
  }
  return "[" + text + "]";
}

Status check_binding(const WeightBinding& binding,
                     const std::map<std::string_view, const StoredTensor*>& tensors,
                     const std::string& where) {
  const auto found = tensors.find(binding.tensor);
  if (found == tensors.end()) {
    return fault(kMissingWeight, "header: " + where + " refers to tensor " +
                                     quote(binding.tensor.substr(0, 80)) +
                                     ", which weights.tensors does not have");
  }
  const StoredTensor& tensor = *found->second;
  const auto expected = steps_between(tensor, binding);
  if (!expected) {
    return fault(kWeightSteps, "header: " + where + ": " + std::string(dtype_name(binding.dtype)) +
                                   " " + to_string(binding.shape) + " cannot be made from " +
                                   std::string(dtype_name(tensor.dtype)) + " " +
                                   to_string(tensor.shape));
  }
  if (binding.steps != *expected) {
    return fault(kWeightSteps, "header: " + where + ".steps is " + steps_text(binding.steps) +
                                   ", expected " + steps_text(*expected));
  }
  return Status::ok();
}

constexpr std::uint64_t aligned(std::uint64_t at) {
  return (at + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Status check_weights(const BundleHeader& header) {
  std::map<std::string_view, const StoredTensor*> tensors;
  if (header.weights) {
    for (const StoredTensor& tensor : header.weights->tensors) {
      if (!tensors.emplace(tensor.name, &tensor).second) {
        return fault(kInconsistent,
                     "header: weights.tensors has the name " + quote(tensor.name) + " twice");
      }
      if (!stored_bytes(tensor)) {
        return fault(kWeightsLayout, "header: weights.tensors: " + quote(tensor.name) +
                                         " is larger than any file");
      }
    }
  }
  std::set<std::string_view> used;
  for (std::size_t i = 0; i < header.components.size(); ++i) {
    const std::vector<BundleEngine>& engines = header.components[i].engines;
    for (std::size_t j = 0; j < engines.size(); ++j) {
      for (std::size_t k = 0; k < engines[j].weights.size(); ++k) {
        const std::string where = "components[" + std::to_string(i) + "].engines[" +
                                  std::to_string(j) + "].weights[" + std::to_string(k) + "]";
        TRTMC_RETURN_IF_ERROR(check_binding(engines[j].weights[k], tensors, where));
        used.insert(engines[j].weights[k].tensor);
      }
    }
  }
  if (!header.weights) return Status::ok();
  for (const StoredTensor& tensor : header.weights->tensors) {
    if (!used.contains(tensor.name)) {
      return fault(kInconsistent,
                   "header: weights.tensors: no engine uses " + quote(tensor.name));
    }
  }
  return Status::ok();
}

Status check_weights_layout(const BundleHeader& header) {
  if (!header.weights) return Status::ok();
  std::uint64_t end = 0;
  for (const StoredTensor& tensor : header.weights->tensors) {
    const std::string where = "header: weights.tensors: " + quote(tensor.name);
    if (tensor.offset != aligned(end)) {
      return fault(kWeightsLayout, where + " starts at " + std::to_string(tensor.offset) +
                                       ", expected " + std::to_string(aligned(end)));
    }
    end = tensor.offset + *stored_bytes(tensor);  // both below 2^63
    if (end > kMost) return fault(kWeightsLayout, where + " ends behind any file");
  }
  for (const BundleSection& section : header.sections) {
    if (section.name == header.weights->section && section.length != end) {
      return fault(kWeightsLayout, "header: weights end at byte " + std::to_string(end) +
                                       " of section '" + section.name + "', which has " +
                                       std::to_string(section.length));
    }
  }
  return Status::ok();
}

}  // namespace trtmc::bundle
