// Writes small engine files for tests: an OpenVINO model as text with its weights, and a decoder
// with random weights as the usual example.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <random>
#include <string>
#include <vector>

#include "trtmc/contract.h"

namespace trtmc::openvino::testing {

// Bytes aligned as a memory map is.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t size)
      : size_(size),
        data_(static_cast<std::byte*>(std::aligned_alloc(4096, (size + 8191) / 4096 * 4096))) {
    std::memset(data_.get(), 0, size);
  }
  std::byte* data() { return data_.get(); }
  std::span<const std::byte> span() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> data_;
};

// The layers of a model. A value is the number of the layer that makes it.
class ModelText {
 public:
  int parameter(const std::string& name, const std::string& type, const std::string& shape) {
    return layer("Parameter", "opset1", "shape=\"" + shape + "\" element_type=\"" + type + "\"", {},
                 name, type);
  }
  int raw(const std::vector<std::byte>& bytes, const std::string& type, const std::string& shape) {
    const std::size_t offset = weights.size();
    weights.insert(weights.end(), bytes.begin(), bytes.end());
    weights.resize((weights.size() + 63) / 64 * 64);
    return layer("Const", "opset1",
                 "element_type=\"" + type + "\" shape=\"" + shape + "\" offset=\"" +
                     std::to_string(offset) + "\" size=\"" + std::to_string(bytes.size()) + "\"",
                 {}, "", type);
  }
  // A weight that stands outside of the engine file; its bytes go to `external`.
  int outside(const std::string& name, std::vector<std::byte> bytes, const std::string& shape) {
    const std::string form = ".float32." + std::to_string(bytes.size() / 4);
    const std::string full = "trtmc.weight." + std::to_string(external.size()) + form + ":" + name;
    external[name] = std::move(bytes);
    return parameter(full, "u8", shape);
  }
  int op(const std::string& type, const std::string& attributes, const std::vector<int>& inputs,
         const std::string& name = "") {
    return layer(type, "trtmc", attributes, inputs, name, "f32");
  }
  int standard(const std::string& type, const std::vector<int>& inputs, const std::string& name) {
    return layer(type, "opset1", "", inputs, name, "f32");
  }
  void result(int value) { layer("Result", "opset1", "", {value}, "", ""); }

  AlignedBytes engine() const {
    const std::string xml = "<?xml version=\"1.0\"?><net name=\"test\" version=\"11\"><layers>" +
                            layers_ + "</layers><edges>" + edges_ + "</edges></net>";
    const std::size_t offset = (4096 + xml.size() + 4095) / 4096 * 4096;
    AlignedBytes file(offset + weights.size());
    std::memcpy(file.data(), "TRTMCOVE\1\0\0\0\0\0\0\0", 16);
    const std::uint64_t fields[] = {4096, xml.size(), offset, weights.size()};
    std::memcpy(file.data() + 16, fields, sizeof(fields));
    std::memcpy(file.data() + 4096, xml.data(), xml.size());
    if (!weights.empty()) std::memcpy(file.data() + offset, weights.data(), weights.size());
    return file;
  }

  std::vector<std::byte> weights;
  std::map<std::string, std::vector<std::byte>, std::less<>> external;

 private:
  int layer(const std::string& type, const std::string& version, const std::string& attributes,
            const std::vector<int>& inputs, const std::string& name, const std::string& type_out) {
    const std::string id = std::to_string(count_);
    layers_ += "<layer id=\"" + id + "\" name=\"node" + id + "\" type=\"" + type + "\" version=\"" +
               version + "\">";
    if (!attributes.empty()) layers_ += "<data " + attributes + "/>";
    if (!inputs.empty()) layers_ += "<input>";
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      layers_ += "<port id=\"" + std::to_string(i) + "\"/>";
      edges_ += "<edge from-layer=\"" + std::to_string(inputs[i]) + "\" from-port=\"" +
                std::to_string(ports_[static_cast<std::size_t>(inputs[i])]) + "\" to-layer=\"" +
                id + "\" to-port=\"" + std::to_string(i) + "\"/>";
    }
    if (!inputs.empty()) layers_ += "</input>";
    if (!type_out.empty()) {
      const std::string precision =
          type_out[0] == 'f'
              ? "FP32"
              : std::string(1, static_cast<char>(type_out[0] - 32)) + type_out.substr(1);
      layers_ += "<output><port id=\"" + std::to_string(inputs.size()) + "\" precision=\"" +
                 precision + "\"" + (name.empty() ? "" : " names=\"" + name + "\"") + "/></output>";
    }
    layers_ += "</layer>";
    ports_.push_back(static_cast<int>(inputs.size()));
    return count_++;
  }

  std::string layers_, edges_;
  std::vector<int> ports_;
  int count_ = 0;
};

inline std::vector<std::byte> random_bytes(std::size_t floats, float size, unsigned seed) {
  std::mt19937 gen(seed);
  std::normal_distribution<float> normal(0.0f, size);
  std::vector<float> v(floats);
  for (float& x : v) x = normal(gen);
  std::vector<std::byte> bytes(floats * 4);
  std::memcpy(bytes.data(), v.data(), bytes.size());
  return bytes;
}

// One decoder layer: vocabulary 11, width 8, 2 query heads and 1 key/value head of 4, 16 rows.
struct TinyDecoder {
  static constexpr std::int64_t kVocab = 11, kWidth = 8, kCapacity = 16, kHeadDim = 4;

  ModelText text;
  Contract contract;

  // `standard_op` puts one of OpenVINO's own operators behind the logits; with `outside` the
  // matrices are external weights.
  explicit TinyDecoder(bool standard_op = false, bool constant_cache = false,
                       bool outside = false) {
    auto linear = [&](int x, int n, int k, unsigned seed, int residual = -1,
                      const std::string& name = "") {
      auto bytes = random_bytes(std::size_t(n) * k, 0.4f, seed);
      const std::string size = std::to_string(n * k * 4);
      const int w = outside ? text.outside("w" + std::to_string(seed), std::move(bytes), size)
                            : text.raw(bytes, "u8", size);
      std::vector<int> inputs = {x, w};
      if (residual >= 0) inputs.push_back(residual);
      return text.op("Linear",
                     "n=\"" + std::to_string(n) + "\" k=\"" + std::to_string(k) +
                         "\" weight_type=\"f32\" bias=\"false\" residual=\"" +
                         (residual >= 0 ? "true" : "false") + "\" compute=\"f32\"",
                     inputs, name);
    };
    auto norm = [&](int x, unsigned seed) {
      return text.op("RmsNorm", "size=\"8\" epsilon=\"1e-5\"",
                     {x, text.raw(random_bytes(8, 1, seed), "f32", "8")});
    };
    const int ids = text.parameter("input_ids", "i64", "?,?"),
              positions = text.parameter("position_ids", "i64", "?,?");
    const int write = text.parameter("write_indices", "i32", "?"),
              length = text.parameter("kv_lengths", "i32", "?");
    const int rows = text.parameter("logit_rows", "i64", "?");
    const int k_cache = constant_cache ? text.raw(random_bytes(64, 0, 1), "f32", "1,1,16,4")
                                       : text.parameter("k_cache_0", "f32", "?,1,16,4");
    const int v_cache = text.parameter("v_cache_0", "f32", "?,1,16,4");
    const int cos = text.raw(random_bytes(32, 0.5f, 20), "f32", "16,2"),
              sin = text.raw(random_bytes(32, 0.5f, 21), "f32", "16,2");
    const int table = text.raw(random_bytes(88, 1, 22), "u8", "352");
    const int h =
        text.op("EmbeddingGather", "rows=\"11\" n=\"8\" weight_type=\"f32\"", {ids, table});
    const int x = norm(h, 23);
    const int q = linear(x, 8, 8, 24), k = linear(x, 4, 8, 25), v = linear(x, 4, 8, 26);
    const int a =
        text.op("Attention",
                "q_heads=\"2\" kv_heads=\"1\" head_dim=\"4\" scale=\"0.5\" rotary=\"half\" "
                "rotary_dim=\"4\" window=\"0\"",
                {q, k, v, k_cache, v_cache, write, length, positions, cos, sin});
    const int o = linear(a, 8, 8, 27, h), y = norm(o, 28);
    const int gate = linear(y, 12, 8, 29), up = linear(y, 12, 8, 30);
    const int mlp = text.op("GatedActivation", "activation=\"silu\"", {gate, up});
    const int last = text.op("GatherRows", "", {linear(mlp, 8, 12, 31, o), rows});
    const int logits = linear(last, 11, 8, 32, -1, standard_op ? "" : "logits");
    text.result(standard_op ? text.standard("ReLU", {logits}, "logits") : logits);

    const Dim b = std::string("batch"), t = std::string("sequence"), r = std::string("rows");
    const std::vector<Dim> cache = {b, std::int64_t{1}, kCapacity, kHeadDim};
    contract.inputs = {
        {"input_ids", DType::kInt64, {b, t}},  {"position_ids", DType::kInt64, {b, t}},
        {"write_indices", DType::kInt32, {b}}, {"kv_lengths", DType::kInt32, {b}},
        {"logit_rows", DType::kInt64, {r}},    {"k_cache_0", DType::kFloat32, cache},
        {"v_cache_0", DType::kFloat32, cache}};
    contract.outputs = {{"logits", DType::kFloat32, {r, kVocab}},
                        {"k_out_0", DType::kFloat32, cache},
                        {"v_out_0", DType::kFloat32, cache}};
    contract.state = {{"k_cache_0", "k_out_0"}, {"v_cache_0", "v_out_0"}};
    contract.profiles = {
        {"context", {{"batch", {1, 1, 2}}, {"sequence", {1, 4, 16}}, {"rows", {1, 1, 32}}}}};
  }
};

}  // namespace trtmc::openvino::testing
