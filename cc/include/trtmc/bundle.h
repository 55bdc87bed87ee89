// What a bundle says about itself, and how a pipeline reads its sections.
//
// The structs mirror the version-1 bundle header; cc/bundle parses and checks the file and
// implements BundleView over one memory map. Nothing here knows the bytes of the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trtmc/contract.h"
#include "trtmc/status.h"
#include "trtmc/target.h"

namespace trtmc {

enum class WeightStep : std::uint8_t { kReshape, kCast };

// A weight input of an engine, which is no input of its contract: the stored tensor, and the steps
// in order that make this dtype and shape from it. A cast rounds to the nearest, ties to even.
struct WeightBinding {
  std::string input;
  DType dtype = DType::kFloat32;
  Shape shape;
  std::string tensor;  // name in StoredWeights
  std::vector<WeightStep> steps;
};

// One compiled network for one target.
struct BundleEngine {
  std::string target;   // name in BundleHeader::targets
  std::string section;  // that holds the engine
  Contract contract;
  std::vector<WeightBinding> weights;  // empty: all weights are embedded
  std::string options_json;            // how it was built; nothing acts on it
};

// One part of the model, with one engine for each target of the bundle, in their order.
struct BundleComponent {
  std::string name;  // "llm"
  std::vector<BundleEngine> engines;

  const BundleEngine* find_engine(std::string_view target) const {
    for (const BundleEngine& one : engines) {
      if (one.target == target) return &one;
    }
    return nullptr;
  }
};

// A tensor of the checkpoint in its own type. Its size in bytes follows from dtype and shape.
struct StoredTensor {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  std::uint64_t offset = 0;  // in the section, a multiple of 4096
};

// Weights that stand outside of the engines, once for all of them.
struct StoredWeights {
  std::string section;
  std::vector<StoredTensor> tensors;  // in order of their offsets
};

struct BundleSection {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::string sha256;  // lower-case hexadecimal
  std::string media_type;
};

// The checkpoint's own generation settings; a missing one is absent, not a default.
struct SamplingDefaults {
  std::optional<bool> do_sample;
  std::optional<double> temperature;
  std::optional<std::int64_t> top_k;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
};

// Present for task "text_generation_causal".
struct TextGenerationInfo {
  std::int64_t vocab_size = 0;    // width of the logits
  std::int64_t max_sequence = 0;  // capacity of the cache
  std::optional<std::int32_t> bos_token_id;
  std::vector<std::int32_t> eos_token_ids;  // generation stops at any of them
  std::optional<std::int32_t> pad_token_id;
  SamplingDefaults sampling;
};

struct BundleHeader {
  std::string kind;              // "native" | "optimized"
  std::string family;            // build owner
  std::string task;              // shared behaviour; never dispatches
  std::string runtime_strategy;  // selects the model DSO and its plugin
  std::vector<TargetInfo> targets;  // at least one, names differ
  std::vector<BundleComponent> components;
  std::optional<StoredWeights> weights;
  std::optional<TextGenerationInfo> text_generation;
  // Role ("tokenizer", "tokenizer_config", "chat_template") to section name; absent when null.
  std::map<std::string, std::string, std::less<>> assets;
  std::vector<BundleSection> sections;
  std::string provenance_json;  // for people and for `inspect`; the runtime does not act on it

  const BundleComponent* find_component(std::string_view name) const {
    for (const BundleComponent& one : components) {
      if (one.name == name) return &one;
    }
    return nullptr;
  }
};

// An open, already validated bundle. Const calls are safe from several threads.
class BundleView {
 public:
  virtual ~BundleView() = default;

  virtual std::string_view path() const = 0;
  virtual std::string_view id() const = 0;  // SHA-256 of the header, hexadecimal
  virtual const BundleHeader& header() const = 0;

  // The bytes of a section, mapped for as long as this object lives. The hash is checked before
  // the first use of a section; a wrong one is an error that names file and section.
  virtual Result<std::span<const std::byte>> section(std::string_view name) const = 0;
};

}  // namespace trtmc
