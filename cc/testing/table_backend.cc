#include "cc/testing/table_backend.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace trtmc::testing {
namespace {

constexpr char kMagic[8] = {'T', 'A', 'B', 'L', 'E', 'M', 'D', 'L'};
constexpr std::size_t kHead = 16;
constexpr std::align_val_t kAlign{64};

Status violation(const std::string& what) { return internal_error("table.violation", what); }

// FNV-1a over ids, then a few steps of a linear generator per logit.
float hashed_logit(std::uint64_t hash, std::int64_t j) {
  std::uint64_t x = hash + static_cast<std::uint64_t>(j) * 0x9E3779B97F4A7C15ull;
  x ^= x >> 31;
  x *= 0xBF58476D1CE4E5B9ull;
  x ^= x >> 29;
  return static_cast<float>(x % 100003) / 10000.0f;
}

class TableSession final : public Session {
 public:
  TableSession(const TableModel& model, const Contract& contract, std::shared_ptr<RunLog> log)
      : model_(model), contract_(contract), log_(std::move(log)) {}

  Status bind(std::string_view name, const Tensor& tensor) override {
    const TensorSpec* spec = contract_.find_input(name);
    if (spec == nullptr) return violation("unknown input " + std::string(name));
    if (spec->dtype != tensor.dtype || spec->shape.size() != tensor.shape.rank()) {
      return violation("wrong dtype or rank for " + std::string(name));
    }
    for (std::size_t i = 0; i < spec->shape.size(); ++i) {
      const auto* fixed = std::get_if<std::int64_t>(&spec->shape[i]);
      if (fixed != nullptr && *fixed != tensor.shape[i]) {
        return violation("wrong size for " + std::string(name));
      }
    }
    if (tensor.data == nullptr) return violation("null memory for " + std::string(name));
    ++log_->binds;
    bound_[std::string(name)] = tensor;
    return Status::ok();
  }

  Status set_profile(std::string_view name) override {
    profile_ = contract_.find_profile(name);
    return profile_ ? Status::ok() : violation("unknown profile " + std::string(name));
  }

  Status run() override;

  Result<Tensor> output(std::string_view name) override {
    for (const StatePair& pair : contract_.state) {
      if (pair.output == name) return bound_.at(pair.input);
    }
    if (name != "logits" || logits_.empty()) return violation("no output yet");
    const auto rows = static_cast<std::int64_t>(logits_.size()) / model_.vocab;
    return Tensor::of(logits_.data(), {rows, model_.vocab});
  }

 private:
  Status check(const RunRecord& r) const;
  void write_cache(const RunRecord& r, std::int64_t tokens);
  std::uint64_t history_hash(std::int64_t b, std::int64_t length) const;

  template <class T>
  std::vector<T> take(std::string_view name) const {
    const auto values = bound_.find(name)->second.as<T>();
    return {values.begin(), values.end()};
  }
  float* cache_row(std::string_view name, std::int64_t b) const {
    const Tensor& t = bound_.find(name)->second;
    return static_cast<float*>(t.data) + b * t.shape[2];
  }

  const TableModel& model_;
  const Contract& contract_;
  std::shared_ptr<RunLog> log_;
  TensorMap bound_;
  const Profile* profile_ = nullptr;
  std::vector<float> logits_;
};

Status TableSession::check(const RunRecord& r) const {
  const std::int64_t batch = r.ids_shape[0], tokens = r.ids_shape[1];
  const Shape& cache = bound_.find("k_cache_0")->second.shape;
  if (r.position_ids.size() != r.input_ids.size()) return violation("ids and positions differ");
  if (static_cast<std::int64_t>(r.write_indices.size()) != batch ||
      static_cast<std::int64_t>(r.kv_lengths.size()) != batch || cache[0] != batch) {
    return violation("batch differs between inputs");
  }
  if (profile_ == nullptr) return violation("no profile chosen");
  for (const auto& [dim, value] : {std::pair<std::string, std::int64_t>{"batch", batch},
                                   {"sequence", tokens},
                                   {"rows", static_cast<std::int64_t>(r.logit_rows.size())}}) {
    const auto it = profile_->dims.find(dim);
    if (it != profile_->dims.end() && (value < it->second.min || value > it->second.max)) {
      return violation(dim + " = " + std::to_string(value) + " is outside profile " +
                       profile_->name);
    }
  }
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t at = r.write_indices[static_cast<std::size_t>(b)];
    if (at < 0 || at + tokens > cache[2]) return violation("rows past the end of the cache");
    if (r.kv_lengths[static_cast<std::size_t>(b)] != at + tokens) {
      return violation("kv_lengths is not write_indices + T");
    }
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto i = static_cast<std::size_t>(b * tokens + t);
      if (r.position_ids[i] != at + t) return violation("wrong position");
      if (r.input_ids[i] < 0 || r.input_ids[i] >= model_.vocab) return violation("wrong id");
    }
  }
  for (std::int64_t row : r.logit_rows) {
    if (row < 0 || row >= batch * tokens) return violation("logit row out of range");
  }
  return Status::ok();
}

void TableSession::write_cache(const RunRecord& r, std::int64_t tokens) {
  for (std::int64_t b = 0; b < r.ids_shape[0]; ++b) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto i = static_cast<std::size_t>(b * r.ids_shape[1] + t);
      const std::int64_t row = r.write_indices[static_cast<std::size_t>(b)] + t;
      cache_row("k_cache_0", b)[row] = static_cast<float>(r.input_ids[i]);
      cache_row("v_cache_0", b)[row] = static_cast<float>(r.position_ids[i]);
    }
  }
}

std::uint64_t TableSession::history_hash(std::int64_t b, std::int64_t length) const {
  std::uint64_t hash = 14695981039346656037ull;
  for (std::int64_t i = 0; i < length; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(cache_row("k_cache_0", b)[i])) * 1099511628211ull;
    hash = (hash ^ static_cast<std::uint64_t>(cache_row("v_cache_0", b)[i])) * 1099511628211ull;
  }
  return hash;
}

Status TableSession::run() {
  for (const TensorSpec& spec : contract_.inputs) {
    if (bound_.find(spec.name) == bound_.end()) return violation("unbound input " + spec.name);
  }
  RunRecord r;
  r.profile = profile_ ? profile_->name : "";
  r.input_ids = take<std::int64_t>("input_ids");
  r.position_ids = take<std::int64_t>("position_ids");
  r.logit_rows = take<std::int64_t>("logit_rows");
  r.write_indices = take<std::int32_t>("write_indices");
  r.kv_lengths = take<std::int32_t>("kv_lengths");
  r.k_cache = bound_.find("k_cache_0")->second.data;
  r.ids_shape = bound_.find("input_ids")->second.shape;
  TRTMC_RETURN_IF_ERROR(check(r));
  const std::int64_t tokens = r.ids_shape[1];
  const bool fail = log_->fail_at_run == static_cast<int>(log_->runs.size());
  log_->runs.push_back(r);
  write_cache(r, fail ? tokens / 2 : tokens);
  if (fail) return internal_error("table.injected", "the test asked this run to fail");

  logits_.clear();
  for (std::int64_t row : r.logit_rows) {
    const std::int64_t b = row / tokens, t = row % tokens;
    const std::int64_t length = r.write_indices[static_cast<std::size_t>(b)] + t + 1;
    const auto id = r.input_ids[static_cast<std::size_t>(row)];
    const std::uint64_t hash = model_.history ? history_hash(b, length) : 0;
    for (std::int64_t j = 0; j < model_.vocab; ++j) {
      logits_.push_back(model_.history
                            ? hashed_logit(hash, j)
                            : model_.table[static_cast<std::size_t>(id * model_.vocab + j)]);
    }
  }
  return Status::ok();
}

class TableEngine final : public Engine {
 public:
  TableEngine(TableModel model, const Contract& contract, std::shared_ptr<RunLog> log)
      : model_(std::move(model)), contract_(contract), log_(std::move(log)) {}
  const Contract& contract() const override { return contract_; }
  MemoryReport memory() const override { return {model_.table.size() * sizeof(float), 0, 0}; }
  Result<std::unique_ptr<Session>> create_session() override {
    return std::make_unique<TableSession>(model_, contract_, log_);
  }

 private:
  TableModel model_;
  Contract contract_;
  std::shared_ptr<RunLog> log_;
};

}  // namespace

std::vector<std::byte> TableModel::serialize() const {
  std::vector<std::byte> bytes(kHead + table.size() * sizeof(float));
  const std::uint32_t numbers[2] = {static_cast<std::uint32_t>(vocab), history ? 1u : 0u};
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  std::memcpy(bytes.data() + sizeof kMagic, numbers, sizeof numbers);
  if (!table.empty()) std::memcpy(bytes.data() + kHead, table.data(), bytes.size() - kHead);
  return bytes;
}

Result<TableModel> TableModel::parse(std::span<const std::byte> bytes) {
  std::uint32_t numbers[2];
  if (bytes.size() < kHead || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    return bad_input("backend.bad_engine", "the section is no table model");
  }
  std::memcpy(numbers, bytes.data() + sizeof kMagic, sizeof numbers);
  TableModel model{numbers[0], numbers[1] != 0, {}};
  const std::size_t values = model.history ? 0 : std::size_t{numbers[0]} * numbers[0];
  if (bytes.size() != kHead + values * sizeof(float)) {
    return bad_input("backend.bad_engine", "the table model has the wrong length");
  }
  model.table.resize(values);
  if (values != 0) std::memcpy(model.table.data(), bytes.data() + kHead, bytes.size() - kHead);
  return model;
}

TableModel TableModel::path(std::int64_t vocab, const std::vector<std::int32_t>& path) {
  TableModel model{vocab, false, std::vector<float>(static_cast<std::size_t>(vocab * vocab))};
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    model.table[static_cast<std::size_t>(path[i] * vocab + path[i + 1])] = 10;
  }
  return model;
}

Contract table_contract(std::int64_t vocab, const TableLimits& limits) {
  Contract c;
  const std::vector<Dim> grid = {"batch", "sequence"};
  const std::vector<Dim> cache = {"batch", std::int64_t{1}, limits.max_sequence, std::int64_t{1}};
  c.inputs = {{"input_ids", DType::kInt64, grid},
              {"position_ids", DType::kInt64, grid},
              {"write_indices", DType::kInt32, {"batch"}},
              {"kv_lengths", DType::kInt32, {"batch"}},
              {"logit_rows", DType::kInt64, {"rows"}},
              {"k_cache_0", DType::kFloat32, cache},
              {"v_cache_0", DType::kFloat32, cache}};
  c.outputs = {{"logits", DType::kFloat32, {"rows", vocab}},
               {"k_out_0", DType::kFloat32, cache},
               {"v_out_0", DType::kFloat32, cache}};
  c.state = {{"k_cache_0", "k_out_0"}, {"v_cache_0", "v_out_0"}};
  const std::int64_t b = limits.max_batch, t = limits.max_chunk;
  const DimRange batch = {1, b, b};
  c.profiles = {
      {"context", {{"batch", batch}, {"sequence", {1, t, t}}, {"rows", {1, b, b * t}}}},
      {"generation", {{"batch", batch}, {"sequence", {1, 1, 1}}, {"rows", {1, b, b}}}}};
  c.limits = {limits.max_batch, limits.max_sequence};
  return c;
}

Result<DeviceTensor> CountingAllocator::allocate(DType dtype, const Shape& shape) {
  const std::size_t bytes = std::max<std::size_t>(1, storage_bytes(dtype, shape));
  void* data = ::operator new(bytes, kAlign, std::nothrow);
  if (data == nullptr) return resource_error("backend.out_of_memory", "no memory for a test");
  std::memset(data, 0, bytes);
  ++*live_;
  return DeviceTensor(Tensor{data, dtype, MemoryKind::kHost, 0, shape}, [live = live_](void* p) {
    ::operator delete(p, kAlign);
    --*live;
  });
}

Status TableBackend::check_target(const TargetInfo& target) const {
  if (target.name == "table") return Status::ok();
  return target_mismatch("target.mismatch", "the bundle is for " + target.name +
                         ", this backend runs target table only");
}

std::unique_ptr<Engine> TableBackend::make_engine(TableModel model, const Contract& contract) {
  return std::make_unique<TableEngine>(std::move(model), contract, log_);
}

Result<std::unique_ptr<Engine>> TableBackend::load(const EngineBlob& blob, const Contract& contract,
                                                   const EngineOptions&) {
  auto model = TableModel::parse(blob.bytes);
  if (!model.is_ok()) return model.status().with_context("section " + blob.name);
  return make_engine(std::move(model).value(), contract);
}

}  // namespace trtmc::testing
