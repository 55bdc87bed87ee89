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

std::string component_text(const BundleComponent& component) {
  const Contract& contract = component.contract;
  std::string text = "  " + component.name + ": engine " + component.engine + ", max_batch " +
                     std::to_string(contract.limits.max_batch) + ", max_sequence " +
                     std::to_string(contract.limits.max_sequence) + "\n";
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
  return text;
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
  const json& compiler = provenance["compiler"];
  std::string text = "provenance\n  checkpoint " + checkpoint["source"].get<std::string>() +
                     ", revision " + checkpoint["revision"].get<std::string>() + "\n";
  for (const json& file : checkpoint["files"]) {
    text += "    " + file["name"].get<std::string>() + ", " +
            std::to_string(file["size"].get<std::int64_t>()) + " bytes, sha256 " +
            file["sha256"].get<std::string>().substr(0, 16) + "\n";
  }
  text += "  builder " + builder["version"].get<std::string>() + ", sources sha256 " +
          builder["source_sha256"].get<std::string>().substr(0, 16) + "\n";
  text += "  compiler " + compiler["name"].get<std::string>() + " " +
          compiler["version"].get<std::string>() + "\n  options " +
          encode_canonical(provenance["options"]) + "\n";
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
  const json& target = stored["target"];
  std::string text = "bundle " + std::string(bundle.id()) + "\n";
  text += "  version " + str(bundle::kVersion) + ", " + str(bundle.file_length()) +
          " bytes, header " + str(bundle.header_json().size()) + " bytes\n";
  text += "  kind " + header.kind + ", family " + header.family + ", task " + header.task + "\n";
  if (!header.runtime_strategy.empty()) text += "  strategy " + header.runtime_strategy + "\n";
  text += "  target " + header.target.name + ": " + header.target.compiler + " " +
          header.target.compiler_version + ", cuda " + encode_canonical(target["cuda_version"]) +
          ", compute " + encode_canonical(target["compute_capability"]) + ", " + header.target.os +
          " " + header.target.arch + "\n";
  text += sections_text(header.sections);
  if (!header.components.empty()) text += "components\n";
  for (const BundleComponent& component : header.components) text += component_text(component);
  if (header.text_generation) text += text_generation_text(stored["text_generation"]);
  return text + provenance_text(stored["provenance"]);
}

}  // namespace trtmc
