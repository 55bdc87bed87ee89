#include "cc/bundle/header.h"

#include <array>
#include <utility>

#include "cc/bundle/json.h"
#include "cc/bundle/schema.h"

namespace trtmc::bundle {
namespace {

constexpr std::int64_t kMaxDim = std::int64_t{1} << 40;
constexpr std::int64_t kMaxInt32 = 2147483647;

// Members of a braced initializer list are evaluated in order; the order is that of the checks.

std::optional<std::string> optional_text(const Node& node) {
  return node.optional([](const Node& n) { return n.text(); });
}

TargetInfo read_target(const Node& node) {
  node.expect_keys({"name", "compiler", "compiler_version", "cuda_version", "compute_capability",
                    "os", "arch"});
  return TargetInfo{node["name"].identifier(),          node["compiler"].identifier(),
                    node["compiler_version"].text(),    optional_text(node["cuda_version"]),
                    optional_text(node["compute_capability"]), node["os"].identifier(),
                    node["arch"].identifier()};
}

DType read_dtype(const Node& node) {
  const std::string name = node.any_string();
  const std::optional<DType> dtype = parse_dtype(name);
  if (node.json().is_string() && !dtype) {
    node.fail(kBadValue, "is " + quote(name.substr(0, 80)) + ", expected an element type");
  }
  return dtype.value_or(DType::kFloat32);
}

Dim read_dim(const Node& node) {
  if (node.json().is_number_integer()) return node.integer(1, kMaxDim);
  if (node.json().is_string()) return node.identifier();
  node.wrong_type("an integer or a string");
  return std::int64_t{1};
}

TensorSpec read_tensor(const Node& node) {
  node.expect_keys({"name", "dtype", "shape"});
  return TensorSpec{node["name"].text(), read_dtype(node["dtype"]),
                    node["shape"].list(read_dim, 0, kMaxRank)};
}

StatePair read_state(const Node& node) {
  node.expect_keys({"input", "output"});
  return StatePair{node["input"].text(), node["output"].text()};
}

DimRange read_range(const Node& node) {
  auto sizes = node.list([](const Node& n) { return n.integer(1, kMaxDim); }, 3, 3);
  sizes.resize(3, 1);
  return DimRange{sizes[0], sizes[1], sizes[2]};
}

Profile read_profile(const Node& node) {
  node.expect_keys({"name", "dims"});
  Profile profile{node["name"].identifier(), {}};
  node["dims"].members([&](const std::string& name, const Node& range) {
    profile.dims[name] = read_range(range);
  });
  return profile;
}

Limits read_limits(const Node& node) {
  node.expect_keys({"max_batch", "max_sequence"});
  return Limits{node["max_batch"].integer(1, kMaxDim), node["max_sequence"].integer(0, kMaxDim)};
}

Contract read_contract(const Node& node) {
  node.expect_keys({"inputs", "outputs", "state", "profiles", "limits"});
  return Contract{node["inputs"].list(read_tensor, 1, 65536),
                  node["outputs"].list(read_tensor, 1, 65536), node["state"].list(read_state),
                  node["profiles"].list(read_profile), read_limits(node["limits"])};
}

Shape read_fixed_shape(const Node& node) {
  Shape shape;
  for (std::int64_t dim :
       node.list([](const Node& n) { return n.integer(1, kMaxDim); }, 0, kMaxRank)) {
    shape.push_back(dim);
  }
  return shape;
}

WeightStep read_step(const Node& node) {
  return node.one_of({"reshape", "cast"}) == "cast" ? WeightStep::kCast : WeightStep::kReshape;
}

WeightBinding read_binding(const Node& node) {
  node.expect_keys({"input", "dtype", "shape", "tensor", "steps"});
  return WeightBinding{node["input"].text(), read_dtype(node["dtype"]),
                       read_fixed_shape(node["shape"]), node["tensor"].text(),
                       node["steps"].list(read_step, 0, 2)};
}

// Checked, but kept as text: nothing acts on it.
std::string read_options(const Node& node) {
  node.members([](const std::string&, const Node& value) {
    if (value.json().is_structured()) {
      value.wrong_type("a string or an integer or a number with a fraction or true or false");
    }
  });
  return encode_canonical(node.json());
}

BundleEngine read_engine(const Node& node) {
  node.expect_keys({"target", "section", "contract", "weights", "options"});
  return BundleEngine{node["target"].identifier(), node["section"].text(),
                      read_contract(node["contract"]),
                      node["weights"].list(read_binding, 0, 65536), read_options(node["options"])};
}

BundleComponent read_component(const Node& node) {
  node.expect_keys({"name", "engines"});
  return BundleComponent{node["name"].identifier(), node["engines"].list(read_engine, 1, 64)};
}

DType read_stored_dtype(const Node& node) {
  const DType dtype = read_dtype(node);
  if (dtype_bits(dtype) < 8) node.fail(kBadValue, "is a type of less than a byte");
  return dtype;
}

StoredTensor read_stored(const Node& node) {
  node.expect_keys({"name", "dtype", "shape", "offset"});
  return StoredTensor{node["name"].text(), read_stored_dtype(node["dtype"]),
                      read_fixed_shape(node["shape"]),
                      static_cast<std::uint64_t>(node["offset"].integer(0))};
}

StoredWeights read_weights(const Node& node) {
  node.expect_keys({"section", "tensors"});
  return StoredWeights{node["section"].text(), node["tensors"].list(read_stored, 1, 65536)};
}

SamplingDefaults read_sampling(const Node& node) {
  node.expect_keys(
      {"do_sample", "temperature", "top_k", "top_p", "min_p", "repetition_penalty"});
  const auto real = [](double lowest, double highest, bool open) {
    return [=](const Node& n) { return n.real(lowest, highest, open); };
  };
  return SamplingDefaults{
      node["do_sample"].optional([](const Node& n) { return n.boolean(); }),
      node["temperature"].optional(real(0, 1e6, false)),
      node["top_k"].optional([](const Node& n) { return n.integer(0, kMaxInt32); }),
      node["top_p"].optional(real(0, 1, true)),
      node["min_p"].optional(real(0, 1, false)),
      node["repetition_penalty"].optional(real(0, 1e6, true))};
}

std::int32_t read_token(const Node& node) {
  return static_cast<std::int32_t>(node.integer(0, kMaxInt32));
}

TextGenerationInfo read_text_generation(const Node& node) {
  node.expect_keys({"vocab_size", "max_sequence", "bos_token_id", "eos_token_ids", "pad_token_id",
                    "sampling"});
  return TextGenerationInfo{node["vocab_size"].integer(1, kMaxInt32),
                            node["max_sequence"].integer(1, kMaxDim),
                            node["bos_token_id"].optional(read_token),
                            node["eos_token_ids"].list(read_token),
                            node["pad_token_id"].optional(read_token),
                            read_sampling(node["sampling"])};
}

std::map<std::string, std::string, std::less<>> read_assets(const Node& node) {
  static constexpr std::array<std::string_view, 3> kRoles = {"tokenizer", "tokenizer_config",
                                                             "chat_template"};
  node.expect_keys({kRoles[0], kRoles[1], kRoles[2]});
  std::map<std::string, std::string, std::less<>> assets;
  for (std::string_view role : kRoles) {
    if (auto name = optional_text(node[role])) assets.emplace(role, *std::move(name));
  }
  return assets;
}

BundleSection read_section(const Node& node) {
  node.expect_keys({"name", "offset", "length", "sha256", "media_type"});
  return BundleSection{node["name"].text(),
                       static_cast<std::uint64_t>(node["offset"].integer(0)),
                       static_cast<std::uint64_t>(node["length"].integer(1)),
                       node["sha256"].sha256(), node["media_type"].media_type()};
}

std::string read_file(const Node& node) {
  node.expect_keys({"name", "size", "sha256"});
  std::string name = node["name"].text();
  node["size"].integer(0);
  node["sha256"].sha256();
  return name;
}

// Checked, but kept as text: nothing acts on it. Returns the names of the checkpoint's files.
std::vector<std::string> read_provenance(const Node& node) {
  node.expect_keys({"checkpoint", "builder"});
  const Node checkpoint = node["checkpoint"];
  checkpoint.expect_keys({"version", "source", "revision", "files"});
  checkpoint["version"].integer(1, 1);
  checkpoint["source"].text(1024);
  checkpoint["revision"].text();
  auto files = checkpoint["files"].list(read_file);
  const Node builder = node["builder"];
  builder.expect_keys({"version", "source_sha256"});
  builder["version"].text();
  builder["source_sha256"].sha256();
  return files;
}

}  // namespace

Result<BundleHeader> decode_header(std::string_view stored) {
  TRTMC_ASSIGN_OR_RETURN(const nlohmann::json json, decode_canonical(stored));
  Diagnosis diagnosis;
  const Node node(json, diagnosis);
  node.expect_keys({"kind", "family", "task", "runtime_strategy", "targets", "components",
                    "weights", "text_generation", "assets", "sections", "provenance"});
  BundleHeader header;
  header.kind = node["kind"].one_of({"native", "optimized"});
  header.family = node["family"].identifier();
  header.task = node["task"].identifier();
  header.runtime_strategy =
      node["runtime_strategy"].optional([](const Node& n) { return n.identifier(); }).value_or("");
  header.targets = node["targets"].list(read_target, 1, 64);
  header.components = node["components"].list(read_component, 0, 256);
  header.weights = node["weights"].optional(read_weights);
  header.text_generation = node["text_generation"].optional(read_text_generation);
  header.assets = read_assets(node["assets"]);
  header.sections = node["sections"].list(read_section, 1, 65536);
  const std::vector<std::string> files = read_provenance(node["provenance"]);
  TRTMC_RETURN_IF_ERROR(diagnosis.status());
  header.provenance_json = encode_canonical(json["provenance"]);
  TRTMC_RETURN_IF_ERROR(check_relations(header, files));
  return header;
}

}  // namespace trtmc::bundle
