// The relations of header.h's check_relations, in the order of python/trtmc/bundle/header.py.

#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "cc/bundle/header.h"
#include "cc/bundle/json.h"
#include "cc/bundle/rules.h"

namespace trtmc::bundle {
namespace {

constexpr std::string_view kTextGeneration = "text_generation_causal";

Status check_kind(const BundleHeader& header) {
  const bool strategy = !header.runtime_strategy.empty();
  const bool components = !header.components.empty();
  if (header.kind == "native" && !(strategy && components)) {
    return fault(kInconsistent,
                 "header: kind 'native' needs a runtime_strategy and at least one component");
  }
  if (header.kind == "optimized" && (strategy || components)) {
    return fault(kInconsistent,
                 "header: kind 'optimized' has neither runtime_strategy nor components");
  }
  if ((header.task == kTextGeneration) != header.text_generation.has_value()) {
    return fault(kInconsistent, "header: task is '" + header.task +
                                    "', but text_generation belongs to '" +
                                    std::string(kTextGeneration) + "' alone");
  }
  return Status::ok();
}

template <class Range, class Key>
Status check_unique(const Range& range, Key key, const std::string& where, std::string_view what) {
  std::set<std::string> seen;
  for (const auto& item : range) {
    const std::string value = key(item);
    if (!seen.insert(value).second) {
      return fault(kInconsistent, "header: " + where + " has the " + std::string(what) + " " +
                                      quote(value) + " twice");
    }
  }
  return Status::ok();
}

const auto kName = [](const auto& item) { return item.name; };

Status check_profile(const Profile& profile, const std::string& where) {
  for (const auto& [name, range] : profile.dims) {
    if (range.min > range.opt || range.opt > range.max) {
      return fault(kInconsistent, "header: " + where + ".dims." + name + " is [" +
                                      std::to_string(range.min) + ", " +
                                      std::to_string(range.opt) + ", " +
                                      std::to_string(range.max) + "], expected min, opt, max");
    }
  }
  return Status::ok();
}

// A header may be hostile: whatever is looked up often is looked up in sets, so that no check takes
// more than linear time (but for logarithms).

template <class Range>
std::set<std::string_view> names_of(const Range& range) {
  std::set<std::string_view> names;
  for (const auto& item : range) names.insert(item.name);
  return names;
}

// Every named dimension of an input needs a range in every profile, and at least one profile.
Status check_dimensions(const Contract& contract, const std::string& where) {
  std::map<std::string_view, std::size_t> profiles_with;
  for (const Profile& profile : contract.profiles) {
    for (const auto& [name, range] : profile.dims) ++profiles_with[name];
  }
  for (const TensorSpec& tensor : contract.inputs) {
    for (const Dim& dim : tensor.shape) {
      const auto* name = std::get_if<std::string>(&dim);
      if (name == nullptr) continue;
      const auto found = profiles_with.find(*name);
      if (found == profiles_with.end() || found->second != contract.profiles.size()) {
        return fault(kInconsistent, "header: " + where + ": dimension '" + *name + "' of input " +
                                        quote(tensor.name) + " has no range in some profile");
      }
    }
  }
  return Status::ok();
}

Status check_contract(const Contract& contract, const std::string& where) {
  TRTMC_RETURN_IF_ERROR(check_unique(contract.inputs, kName, where + ".inputs", "name"));
  TRTMC_RETURN_IF_ERROR(check_unique(contract.outputs, kName, where + ".outputs", "name"));
  const auto inputs = names_of(contract.inputs), outputs = names_of(contract.outputs);
  for (std::size_t i = 0; i < contract.state.size(); ++i) {
    const StatePair& pair = contract.state[i];
    if (!inputs.contains(pair.input) || !outputs.contains(pair.output)) {
      return fault(kInconsistent, "header: " + where + ".state[" + std::to_string(i) +
                                      "] pairs " + quote(pair.input) + " with " +
                                      quote(pair.output) + ", not both exist");
    }
  }
  const auto input = [](const StatePair& pair) { return pair.input; };
  const auto output = [](const StatePair& pair) { return pair.output; };
  TRTMC_RETURN_IF_ERROR(check_unique(contract.state, input, where + ".state", "input"));
  TRTMC_RETURN_IF_ERROR(check_unique(contract.state, output, where + ".state", "output"));
  TRTMC_RETURN_IF_ERROR(check_unique(contract.profiles, kName, where + ".profiles", "name"));
  for (std::size_t i = 0; i < contract.profiles.size(); ++i) {
    TRTMC_RETURN_IF_ERROR(
        check_profile(contract.profiles[i], where + ".profiles[" + std::to_string(i) + "]"));
  }
  return check_dimensions(contract, where);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// One engine per target, in the order of the targets; every engine with a sound contract.
Status check_component(const BundleComponent& component, const std::vector<std::string>& targets,
                       const std::string& where) {
  std::vector<std::string> found;
  for (const BundleEngine& engine : component.engines) found.push_back(engine.target);
  if (found != targets) {
    return fault(kInconsistent, "header: " + where + " has engines for " + joined(found) +
                                    ", expected one for each of " + joined(targets) +
                                    ", in this order");
  }
  for (std::size_t i = 0; i < component.engines.size(); ++i) {
    const BundleEngine& engine = component.engines[i];
    const std::string at = where + ".engines[" + std::to_string(i) + "]";
    TRTMC_RETURN_IF_ERROR(check_contract(engine.contract, at + ".contract"));
    const auto input = [](const WeightBinding& binding) { return binding.input; };
    TRTMC_RETURN_IF_ERROR(check_unique(engine.weights, input, at + ".weights", "input"));
    const auto taken = names_of(engine.contract.inputs);
    for (const WeightBinding& binding : engine.weights) {
      if (taken.contains(binding.input)) {
        return fault(kInconsistent, "header: " + at + ": " + quote(binding.input) +
                                        " is a weight and an input of the contract");
      }
    }
  }
  return Status::ok();
}

Status check_tokens(const TextGenerationInfo& text) {
  std::vector<std::optional<std::int32_t>> named = {text.bos_token_id, text.pad_token_id};
  named.insert(named.end(), text.eos_token_ids.begin(), text.eos_token_ids.end());
  for (const auto& token : named) {
    if (token && *token >= text.vocab_size) {
      return fault(kInconsistent, "header: text_generation: token id " + std::to_string(*token) +
                                      " with a vocab_size of " + std::to_string(text.vocab_size));
    }
  }
  return check_unique(
      text.eos_token_ids, [](std::int32_t id) { return std::to_string(id); },
      "text_generation.eos_token_ids", "id");
}

Status check_section_names(const std::vector<BundleSection>& sections) {
  for (const BundleSection& section : sections) {
    if (!is_section_name(section.name)) {
      return fault(kSectionName, "section name " + quote(section.name.substr(0, 80)) +
                                     ": expected slash-separated parts of letters, digits, '_', "
                                     "'-' and '.', none starting with '.'");
    }
  }
  std::set<std::string_view> names;
  for (const BundleSection& section : sections) {
    if (!names.insert(section.name).second) {
      return fault(kDuplicateSection, "header: two sections are named '" + section.name + "'");
    }
  }
  for (const BundleSection& section : sections) {
    const std::string_view name = section.name;
    for (auto at = name.find('/'); at != std::string_view::npos; at = name.find('/', at + 1)) {
      if (names.contains(name.substr(0, at))) {
        return fault(kSectionName, "header: section '" + std::string(name.substr(0, at)) +
                                       "' is also a folder, of '" + section.name + "'");
      }
    }
  }
  return Status::ok();
}

Status check_references(const BundleHeader& header) {
  std::vector<std::pair<std::string, std::string>> wanted;
  for (std::size_t i = 0; i < header.components.size(); ++i) {
    const std::vector<BundleEngine>& engines = header.components[i].engines;
    for (std::size_t j = 0; j < engines.size(); ++j) {
      wanted.emplace_back("components[" + std::to_string(i) + "].engines[" + std::to_string(j) +
                              "].section",
                          engines[j].section);
    }
  }
  if (header.weights) wanted.emplace_back("weights.section", header.weights->section);
  for (const auto& [role, name] : header.assets) wanted.emplace_back("assets." + role, name);
  if (header.kind == "optimized") wanted.emplace_back("kind 'optimized'", "optimized_runtime.json");
  const auto present = names_of(header.sections);
  for (const auto& [where, name] : wanted) {
    if (!present.contains(name)) {
      return fault(kMissingSection, "header: " + where + " refers to section " +
                                        quote(name.substr(0, 80)) + ", which does not exist");
    }
  }
  return Status::ok();
}

}  // namespace

bool is_section_name(std::string_view name) {
  if (name.empty() || name.size() > 255 || name.back() == '/') return false;
  bool part_starts = true;
  for (char c : name) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-';
    if (!word && (part_starts || (c != '.' && c != '/'))) return false;
    part_starts = c == '/';
  }
  return true;
}

Status check_relations(const BundleHeader& header, const std::vector<std::string>& files) {
  TRTMC_RETURN_IF_ERROR(check_kind(header));
  TRTMC_RETURN_IF_ERROR(check_unique(header.targets, kName, "targets", "name"));
  TRTMC_RETURN_IF_ERROR(check_unique(header.components, kName, "components", "name"));
  std::vector<std::string> targets;
  for (const TargetInfo& target : header.targets) targets.push_back(target.name);
  for (std::size_t i = 0; i < header.components.size(); ++i) {
    TRTMC_RETURN_IF_ERROR(check_component(header.components[i], targets,
                                          "components[" + std::to_string(i) + "]"));
  }
  TRTMC_RETURN_IF_ERROR(check_weights(header));
  if (header.text_generation) TRTMC_RETURN_IF_ERROR(check_tokens(*header.text_generation));
  for (std::size_t i = 1; i < files.size(); ++i) {
    if (files[i - 1] >= files[i]) {
      return fault(kInconsistent, "header: provenance.checkpoint.files[" + std::to_string(i) +
                                      "]: names must be sorted and different");
    }
  }
  TRTMC_RETURN_IF_ERROR(check_section_names(header.sections));
  TRTMC_RETURN_IF_ERROR(check_references(header));
  return check_weights_layout(header);
}

}  // namespace trtmc::bundle
