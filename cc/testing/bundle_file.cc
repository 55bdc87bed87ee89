#include "cc/testing/bundle_file.h"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "cc/bundle/layout.h"
#include "cc/bundle/sha256.h"

namespace trtmc::testing {
namespace {

using nlohmann::json;

struct Section {
  std::string name, media_type, bytes;
};

json dims_json(const std::vector<Dim>& dims) {
  json list = json::array();
  for (const Dim& d : dims) {
    std::visit([&](const auto& value) { list.push_back(value); }, d);
  }
  return list;
}

json tensors_json(const std::vector<TensorSpec>& specs) {
  json list = json::array();
  for (const TensorSpec& s : specs) {
    list.push_back(
        {{"name", s.name}, {"dtype", dtype_name(s.dtype)}, {"shape", dims_json(s.shape)}});
  }
  return list;
}

json contract_json(const Contract& c) {
  json state = json::array(), profiles = json::array();
  for (const StatePair& p : c.state) state.push_back({{"input", p.input}, {"output", p.output}});
  for (const Profile& p : c.profiles) {
    json dims = json::object();
    for (const auto& [name, r] : p.dims) dims[name] = json::array({r.min, r.opt, r.max});
    profiles.push_back({{"name", p.name}, {"dims", dims}});
  }
  return {{"inputs", tensors_json(c.inputs)},
          {"outputs", tensors_json(c.outputs)},
          {"state", state},
          {"profiles", profiles},
          {"limits",
           {{"max_batch", c.limits.max_batch}, {"max_sequence", c.limits.max_sequence}}}};
}

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

std::string sha_of(const std::string& bytes) {
  return bundle::to_hex(bundle::sha256({reinterpret_cast<const std::byte*>(bytes.data()),
                                        bytes.size()}));
}

std::uint64_t aligned(std::uint64_t at) {
  return (at + bundle::kAlignment - 1) / bundle::kAlignment * bundle::kAlignment;
}

json header_json(const BundleParts& p, const std::map<std::string, std::string>& assets) {
  const json none;
  const std::string zero(64, '0');
  json roles = {{"tokenizer", none}, {"tokenizer_config", none}, {"chat_template", none}};
  for (const auto& [role, section] : assets) roles[role] = section;
  std::vector<TargetInfo> targets = {p.target};
  targets.insert(targets.end(), p.more_targets.begin(), p.more_targets.end());
  json target_list = json::array(), engines = json::array();
  for (const TargetInfo& t : targets) {
    target_list.push_back({{"name", t.name},
                           {"compiler", t.compiler},
                           {"compiler_version", t.compiler_version},
                           {"cuda_version", or_null(t.cuda_version)},
                           {"compute_capability", or_null(t.compute_capability)},
                           {"os", t.os},
                           {"arch", t.arch}});
    engines.push_back({{"target", t.name},
                       {"section", "engines/llm.engine"},
                       {"contract", contract_json(table_contract(p.model.vocab, p.limits))},
                       {"weights", json::array()},
                       {"options", json::object()}});
  }
  return {
      {"kind", "native"},
      {"family", "toy"},
      {"task", p.task},
      {"runtime_strategy", p.strategy},
      {"targets", target_list},
      {"components", {{{"name", "llm"}, {"engines", engines}}}},
      {"weights", none},
      {"text_generation",
       {{"vocab_size", p.model.vocab},
        {"max_sequence", p.limits.max_sequence},
        {"bos_token_id", none},
        {"eos_token_ids", p.eos},
        {"pad_token_id", none},
        {"sampling",
         {{"do_sample", none},
          {"temperature", none},
          {"top_k", none},
          {"top_p", none},
          {"min_p", none},
          {"repetition_penalty", none}}}}},
      {"assets", roles},
      {"provenance",
       {{"checkpoint",
         {{"version", 1},
          {"source", "test:toy"},
          {"revision", "1"},
          {"files", {{{"name", "config.json"}, {"size", 2}, {"sha256", zero}}}}}},
        {"builder", {{"version", "0"}, {"source_sha256", zero}}}}}};
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}

}  // namespace

Status write_bundle_file(const std::string& path, const BundleParts& parts) {
  const auto engine = parts.model.serialize();
  std::vector<Section> sections = {
      {"engines/llm.engine", "application/octet-stream",
       {reinterpret_cast<const char*>(engine.data()), engine.size()}}};
  std::map<std::string, std::string> names;
  for (const auto& [role, bytes] : parts.assets) {
    const bool is_template = role == "chat_template";
    names[role] = "text/" + role + (is_template ? ".jinja" : ".json");
    sections.push_back({names[role], is_template ? "text/plain" : "application/json", bytes});
  }
  json header = header_json(parts, names);
  std::string text;
  // The offsets stand in the header whose length they depend on: repeat until they agree.
  for (std::uint64_t length = 0; length != text.size() || length == 0;) {
    length = text.size();
    std::uint64_t at = aligned(bundle::kPreambleSize + length);
    header["sections"] = json::array();
    for (const Section& s : sections) {
      header["sections"].push_back({{"name", s.name},
                                    {"offset", at},
                                    {"length", s.bytes.size()},
                                    {"sha256", sha_of(s.bytes)},
                                    {"media_type", s.media_type}});
      at = aligned(at + s.bytes.size());
    }
    text = header.dump();
  }
  std::string file;
  const auto pad = [&] { file.resize(aligned(file.size()), '\0'); };
  file.resize(bundle::kPreambleSize);
  file += text;
  pad();
  for (const Section& s : sections) {
    file += s.bytes;
    pad();
  }
  const auto digest =
      bundle::sha256({reinterpret_cast<const std::byte*>(text.data()), text.size()});
  std::string preamble = std::string(bundle::kMagic) + little_endian(bundle::kVersion, 4) +
                         little_endian(0, 4) + little_endian(text.size(), 8) +
                         std::string(digest.begin(), digest.end()) +
                         little_endian(file.size(), 8);
  file.replace(0, bundle::kPreambleSize, preamble);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << file;
  out.close();
  return out.good() ? Status::ok() : resource_error("test.unwritable", path);
}

}  // namespace trtmc::testing
