// A small good bundle for the tests of this folder, and a scratch folder to put it in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "cc/bundle/json.h"
#include "cc/bundle/layout.h"
#include "cc/bundle/sha256.h"

namespace trtmc::bundle {

inline std::string hash_text(std::string_view text) {
  return to_hex(sha256(std::as_bytes(std::span(text))));
}

// Two sections of one page each: "llm.engine" and "note.txt".
inline nlohmann::json sample_header() {
  static constexpr std::string_view kText = R"({
    "kind": "native", "family": "llama", "task": "embedding", "runtime_strategy": "strategy",
    "targets": [{"name": "cpu_x86_64", "compiler": "openvino", "compiler_version": "1",
                 "cuda_version": null, "compute_capability": null, "os": "linux",
                 "arch": "x86_64"}],
    "components": [{"name": "llm", "engines": [{
        "target": "cpu_x86_64", "section": "llm.engine",
        "weights": [{"input": "w", "dtype": "float32", "shape": [2, 1], "tensor": "note",
                     "steps": ["reshape", "cast"]}],
        "options": {"precision": "fp32"},
        "contract": {
            "inputs": [{"name": "x", "dtype": "float32", "shape": ["batch", 4]}],
            "outputs": [{"name": "y", "dtype": "bfloat16", "shape": [1]}],
            "state": [], "profiles": [{"name": "only", "dims": {"batch": [1, 2, 3]}}],
            "limits": {"max_batch": 3, "max_sequence": 0}}}]}],
    "weights": {"section": "note.txt", "tensors": [
        {"name": "note", "dtype": "float16", "shape": [2], "offset": 0}]},
    "text_generation": null,
    "assets": {"tokenizer": "note.txt", "tokenizer_config": null, "chat_template": null},
    "sections": [], "provenance": {
        "checkpoint": {"version": 1, "source": "test", "revision": "r", "files": []},
        "builder": {"version": "1", "source_sha256": ""}}})";
  nlohmann::json header = nlohmann::json::parse(kText);
  header["provenance"]["builder"]["source_sha256"] = hash_text("sources");
  const auto section = [](std::string_view name, std::int64_t offset, std::string_view content) {
    return nlohmann::json{{"name", name},
                          {"offset", offset},
                          {"length", content.size()},
                          {"sha256", hash_text(content)},
                          {"media_type", "text/plain"}};
  };
  header["sections"] = {section("llm.engine", 4096, "engine"), section("note.txt", 8192, "note")};
  return header;
}

inline std::string assemble(const std::string& header) {
  std::string file(kMagic);
  const auto put = [&file](const auto& value) {
    file.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(kVersion);
  put(std::uint32_t{0});
  put(static_cast<std::uint64_t>(header.size()));
  put(sha256(std::as_bytes(std::span(header))));
  put(std::uint64_t{3 * kAlignment});
  file += header;
  file.resize(kAlignment);
  file += "engine";
  file.resize(2 * kAlignment);
  file += "note";
  file.resize(3 * kAlignment);
  return file;
}

inline std::string sample_bundle() { return assemble(encode_canonical(sample_header())); }

// A folder of its own for each test, removed at the end.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bundle_test_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  std::string write(std::string_view name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace trtmc::bundle
