#include "cc/bundle/describe.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "cc/bundle/json.h"
#include "cc/bundle/layout.h"

namespace trtmc {
namespace {

using bundle::encode_canonical;
using nlohmann::json;

std::string str(std::uint64_t value) { return std::to_string(value); }

std::string pad(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string shape_text(const std::vector<Dim>& shape) {
  std::string text = "[";
  for (const Dim& dim : shape) {
    if (text.size() > 1) text += ", ";
    const auto* fixed = std::get_if<std::int64_t>(&dim);
    text += fixed != nullptr ? std::to_string(*fixed) : std::get<std::string>(dim);
  }
  return text + "]";
}

std::string tensor_line(std::string_view role, const TensorSpec& tensor) {
  return "    " + std::string(role) + " " + tensor.name + " " +
         std::string(dtype_name(tensor.dtype)) + " " + shape_text(tensor.shape) + "\n";
}

std::string profile_line(const Profile& profile) {
  std::string text = "    profile " + profile.name + ":";
  for (const auto& [name, range] : profile.dims) {
    text += " " + name + " " + std::to_string(range.min) + "/" + std::to_string(range.opt) + "/" +
            std::to_string(range.max);
  }
  return text + "\n";
}

std::string target_line(const TargetInfo& target) {
  const auto or_null = [](const std::optional<std::string>& text) {
    return text ? encode_canonical(*text) : "null";
  };
  return "  target " + target.name + ": " + target.compiler + " " + target.compiler_version +
         ", cuda " + or_null(target.cuda_version) + ", compute " +
         or_null(target.compute_capability) + ", " + target.os + " " + target.arch + "\n";
}

std::string engine_text(const std::string& component, const BundleEngine& engine) {
  const Contract& contract = engine.contract;
  std::string text = "  " + component + " for " + engine.target + ": engine " + engine.section +
                     ", max_batch " + std::to_string(contract.limits.max_batch) +
                     ", max_sequence " + std::to_string(contract.limits.max_sequence) +
                     "\n    options " + engine.options_json + "\n";
  std::set<std::string_view> state;
  for (const StatePair& pair : contract.state) state.insert({pair.input, pair.output});
  for (const TensorSpec& tensor : contract.inputs) {
    if (!state.contains(tensor.name)) text += tensor_line("input", tensor);
  }
  for (const TensorSpec& tensor : contract.outputs) {
    if (!state.contains(tensor.name)) text += tensor_line("output", tensor);
  }
  if (!contract.state.empty()) {
    const TensorSpec& first = *contract.find_input(contract.state.front().input);
    text += "    state " + str(contract.state.size()) + " tensors, the first " + first.name + " " +
            std::string(dtype_name(first.dtype)) + " " + shape_text(first.shape) + "\n";
  }
  for (const Profile& profile : contract.profiles) text += profile_line(profile);
  if (!engine.weights.empty()) {
    const auto cast = std::count_if(
        engine.weights.begin(), engine.weights.end(), [](const WeightBinding& binding) {
          return std::ranges::find(binding.steps, WeightStep::kCast) != binding.steps.end();
        });
    text += "    weights " + str(engine.weights.size()) + " from outside, " +
            std::to_string(cast) + " of them cast\n";
  }
  return text;
}

std::string weights_text(const BundleHeader& header) {
  const StoredWeights& stored = *header.weights;
  std::set<std::string_view> dtypes;
  for (const StoredTensor& tensor : stored.tensors) dtypes.insert(dtype_name(tensor.dtype));
  std::string names;
  for (std::string_view name : dtypes) names += std::string(name) + ", ";
  std::uint64_t length = 0;
  for (const BundleSection& section : header.sections) {
    if (section.name == stored.section) length = section.length;
  }
  return "weights\n  " + stored.section + ": " + str(stored.tensors.size()) + " tensors, " +
         names + str(length) + " bytes\n";
}

std::string sections_text(const std::vector<BundleSection>& sections) {
  std::size_t width = 0;
  for (const BundleSection& section : sections) width = std::max(width, section.name.size());
  std::string text = "sections\n";
  for (const BundleSection& section : sections) {
    const std::string length = str(section.length);
    text += "  " + pad(section.name, width) + "  " +
            std::string(length.size() < 12 ? 12 - length.size() : 0, ' ') + length +
            " bytes  sha256 " + section.sha256.substr(0, 16) + "  " + section.media_type + "\n";
  }
  return text;
}

std::string text_generation_text(const json& facts) {
  std::string text = "text generation\n ";
  for (const char* key :
       {"vocab_size", "max_sequence", "bos_token_id", "eos_token_ids", "pad_token_id"}) {
    text += " " + std::string(key) + " " + encode_canonical(facts[key]);
  }
  text += "\n  sampling";
  for (const auto& [key, value] : facts["sampling"].items()) {
    text += " " + key + " " + encode_canonical(value);
  }
  return text + "\n";
}

std::string provenance_text(const json& provenance) {
  const json& checkpoint = provenance["checkpoint"];
  const json& builder = provenance["builder"];
  std::string text = "provenance\n  checkpoint " + checkpoint["source"].get<std::string>() +
                     ", revision " + checkpoint["revision"].get<std::string>() + "\n";
  for (const json& file : checkpoint["files"]) {
    text += "    " + file["name"].get<std::string>() + ", " +
            std::to_string(file["size"].get<std::int64_t>()) + " bytes, sha256 " +
            file["sha256"].get<std::string>().substr(0, 16) + "\n";
  }
  text += "  builder " + builder["version"].get<std::string>() + ", sources sha256 " +
          builder["source_sha256"].get<std::string>().substr(0, 16) + "\n";
  return text;
}

}  // namespace

std::string describe_json(const Bundle& bundle) {
  const std::string_view header = bundle.header_json();
  return "{\"file_length\":" + str(bundle.file_length()) + ",\"header\":" + std::string(header) +
         ",\"header_length\":" + str(header.size()) + ",\"id\":\"" + std::string(bundle.id()) +
         "\",\"version\":" + str(bundle::kVersion) + "}";
}

std::string describe_text(const Bundle& bundle) {
  const BundleHeader& header = bundle.header();
  const json stored = json::parse(bundle.header_json());
  std::string text = "bundle " + std::string(bundle.id()) + "\n";
  text += "  version " + str(bundle::kVersion) + ", " + str(bundle.file_length()) +
          " bytes, header " + str(bundle.header_json().size()) + " bytes\n";
  text += "  kind " + header.kind + ", family " + header.family + ", task " + header.task + "\n";
  if (!header.runtime_strategy.empty()) text += "  strategy " + header.runtime_strategy + "\n";
  for (const TargetInfo& target : header.targets) text += target_line(target);
  text += sections_text(header.sections);
  if (!header.components.empty()) text += "components\n";
  for (const BundleComponent& component : header.components) {
    for (const BundleEngine& engine : component.engines) text += engine_text(component.name, engine);
  }
  if (header.weights) text += weights_text(header);
  if (header.text_generation) text += text_generation_text(stored["text_generation"]);
  return text + provenance_text(stored["provenance"]);
}

}  // namespace trtmc
