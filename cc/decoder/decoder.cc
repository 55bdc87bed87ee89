#include "cc/decoder/decoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace trtmc {
namespace {

struct Wanted {
  std::string_view name;
  DType dtype;
  std::size_t rank;
};

constexpr std::array<Wanted, 5> kInputs = {{{"input_ids", DType::kInt64, 2},
                                            {"position_ids", DType::kInt64, 2},
                                            {"write_indices", DType::kInt32, 1},
                                            {"kv_lengths", DType::kInt32, 1},
                                            {"logit_rows", DType::kInt64, 1}}};
constexpr Wanted kLogits = {"logits", DType::kFloat32, 2};

Status bad_contract(const std::string& what) {
  return bad_input("decoder.bad_contract", "the engine's contract is not that of a decoder: " + what);
}

Status check_spec(const TensorSpec* spec, const Wanted& want) {
  const std::string name(want.name);
  if (spec == nullptr) return bad_contract("it lacks the tensor \"" + name + "\"");
  if (spec->dtype != want.dtype || spec->shape.size() != want.rank) {
    return bad_contract("\"" + name + "\" is " + std::string(dtype_name(spec->dtype)) +
                        " of rank " + std::to_string(spec->shape.size()) + ", expected " +
                        std::string(dtype_name(want.dtype)) + " of rank " +
                        std::to_string(want.rank));
  }
  return Status::ok();
}

// Everything the core will bind is there, and nothing that it would leave unbound.
Status check_contract(const Contract& contract) {
  for (const Wanted& want : kInputs) {
    TRTMC_RETURN_IF_ERROR(check_spec(contract.find_input(want.name), want));
  }
  TRTMC_RETURN_IF_ERROR(check_spec(contract.find_output(kLogits.name), kLogits));
  for (const TensorSpec& spec : contract.inputs) {
    const auto is_input = [&](const Wanted& w) { return w.name == spec.name; };
    const auto is_state = [&](const StatePair& p) { return p.input == spec.name; };
    if (std::none_of(kInputs.begin(), kInputs.end(), is_input) &&
        std::none_of(contract.state.begin(), contract.state.end(), is_state)) {
      return bad_contract("nothing would fill its input \"" + spec.name + "\"");
    }
  }
  if (!std::holds_alternative<std::int64_t>(contract.find_output(kLogits.name)->shape[1])) {
    return bad_contract("the width of \"logits\" must be a number");
  }
  return Status::ok();
}

bool allows(const Profile& profile, std::string_view dim, std::int64_t value) {
  const auto it = profile.dims.find(dim);
  return it == profile.dims.end() || (value >= it->second.min && value <= it->second.max);
}

}  // namespace

Result<Decoder> Decoder::create(DeviceAllocator& allocator, Engine& engine,
                                const DecoderOptions& options) {
  const Contract& contract = engine.contract();
  TRTMC_RETURN_IF_ERROR(check_contract(contract));
  if (options.batch < 1 || options.batch > contract.limits.max_batch) {
    return usage_error("decoder.bad_batch", "a batch of " + std::to_string(options.batch) +
                       " was asked for; the bundle allows 1 to " +
                       std::to_string(contract.limits.max_batch));
  }
  // What is free, less what the session will take of it.
  const MemoryReport memory = engine.memory();
  const std::uint64_t left =
      memory.available > memory.per_session ? memory.available - memory.per_session : 0;
  TRTMC_ASSIGN_OR_RETURN(
      KvCache cache,
      KvCache::create(allocator, contract, options.batch, options.max_sequence, left));
  TRTMC_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine.create_session());
  TRTMC_RETURN_IF_ERROR(cache.bind(*session));
  CacheLedger ledger(options.batch, cache.rows());
  const auto vocab = std::get<std::int64_t>(contract.find_output(kLogits.name)->shape[1]);
  return Decoder(std::move(cache), std::move(ledger), std::move(session), contract, vocab);
}

Decoder::Decoder(KvCache cache, CacheLedger ledger, std::unique_ptr<Session> session,
                 const Contract& contract, std::int64_t vocab)
    : cache_(std::move(cache)),
      ledger_(std::move(ledger)),
      session_(std::move(session)),
      contract_(&contract),
      vocab_(vocab) {}

Status Decoder::check_append(std::span<const std::int32_t> ids,
                             const AppendOptions& options) const {
  const std::int64_t batch = ledger_.batch();
  const auto count = static_cast<std::int64_t>(ids.size());
  if (count == 0 || count % batch != 0) {
    return internal_error("decoder.bad_ids", std::to_string(count) +
                          " ids do not make equal rows for a batch of " + std::to_string(batch));
  }
  const std::int64_t tokens = count / batch;
  for (std::int32_t id : ids) {
    if (id < 0 || id >= vocab_) {
      return bad_input("generate.bad_token_id", "token id " + std::to_string(id) +
                       " is outside the vocabulary (0 to " + std::to_string(vocab_ - 1) + ")");
    }
  }
  const bool valid_fits = std::all_of(options.valid.begin(), options.valid.end(),
                                      [&](std::int64_t n) { return n >= 1 && n <= tokens; });
  if (!valid_fits || (!options.valid.empty() &&
                      static_cast<std::int64_t>(options.valid.size()) != batch)) {
    return internal_error("decoder.bad_valid", "valid must be empty or give 1 to " +
                          std::to_string(tokens) + " ids for each sequence");
  }
  if (tokens > ledger_.capacity() - ledger_.longest()) {
    return resource_error("decoder.full", "the cache holds " + std::to_string(ledger_.longest()) +
                          " of " + std::to_string(ledger_.capacity()) + " ids; " +
                          std::to_string(tokens) + " more do not fit");
  }
  return Status::ok();
}

std::int64_t Decoder::chunk_limit(std::int64_t asked) const {
  std::int64_t most = 0;
  for (const Profile& profile : contract_->profiles) {
    const auto it = profile.dims.find("sequence");
    most = std::max(most, it == profile.dims.end() ? contract_->limits.max_sequence
                                                   : it->second.max);
  }
  if (most == 0) most = contract_->limits.max_sequence;
  return std::min(most, asked > 0 ? asked : kDefaultChunk);
}

// Flat rows (b * size + t) whose logits are wanted of this chunk. A run needs at least one.
std::vector<std::int64_t> Decoder::wanted_rows(const Chunk& chunk,
                                               std::span<const std::int64_t> valid,
                                               LogitRows rows) const {
  std::vector<std::int64_t> wanted;
  for (std::int64_t b = 0; b < ledger_.batch(); ++b) {
    if (rows == LogitRows::kAll) {
      for (std::int64_t t = 0; t < chunk.size; ++t) wanted.push_back(b * chunk.size + t);
      continue;
    }
    const std::int64_t last = valid[static_cast<std::size_t>(b)] - 1 - chunk.begin;
    if (last >= 0 && last < chunk.size) wanted.push_back(b * chunk.size + last);
  }
  if (wanted.empty()) wanted.push_back(chunk.size - 1);
  return wanted;
}

// The last profile that allows the run: contracts list the general one first.
Status Decoder::select_profile(std::int64_t tokens) {
  const Profile* best = nullptr;
  for (const Profile& profile : contract_->profiles) {
    if (allows(profile, "sequence", tokens) && allows(profile, "batch", ledger_.batch())) {
      best = &profile;
    }
  }
  if (best == nullptr) {
    if (contract_->profiles.empty()) return Status::ok();
    return bad_input("decoder.no_profile", "no profile of the engine serves " +
                     std::to_string(ledger_.batch()) + " x " + std::to_string(tokens) + " ids");
  }
  if (best->name == profile_) return Status::ok();
  TRTMC_RETURN_IF_ERROR(session_->set_profile(best->name));
  profile_ = best->name;
  return Status::ok();
}

Result<Tensor> Decoder::run_chunk(std::span<const std::int32_t> ids,
                                  std::span<const std::int64_t> rows) {
  std::vector<std::int64_t> write_indices;
  for (std::int64_t b = 0; b < ledger_.batch(); ++b) write_indices.push_back(ledger_.length(b));
  TRTMC_RETURN_IF_ERROR(select_profile(static_cast<std::int64_t>(ids.size()) / ledger_.batch()));
  inputs_.set(ids, write_indices, rows);
  TRTMC_RETURN_IF_ERROR(inputs_.bind(*session_));
  TRTMC_RETURN_IF_ERROR(session_->run());
  TRTMC_ASSIGN_OR_RETURN(const Tensor logits, session_->output(kLogits.name));
  const Shape want{static_cast<std::int64_t>(rows.size()), vocab_};
  if (!(logits.shape == want) || logits.dtype != DType::kFloat32) {
    return internal_error("decoder.bad_logits", "the engine gave logits of shape " +
                          to_string(logits.shape) + ", expected " + to_string(want));
  }
  return logits;
}

Result<LogitsView> Decoder::append(std::span<const std::int32_t> ids,
                                   const AppendOptions& options) {
  TRTMC_RETURN_IF_ERROR(check_append(ids, options));
  const std::int64_t batch = ledger_.batch();
  const std::int64_t tokens = static_cast<std::int64_t>(ids.size()) / batch;
  std::vector<std::int64_t> valid(options.valid.begin(), options.valid.end());
  if (valid.empty()) valid.assign(static_cast<std::size_t>(batch), tokens);

  const std::int64_t limit = chunk_limit(options.chunk);
  const bool one_run = tokens <= limit;
  const std::int64_t out_rows = options.rows == LogitRows::kAll ? batch * tokens : batch;
  if (!one_run) collected_.resize(static_cast<std::size_t>(out_rows * vocab_));

  Tensor logits;
  for (Chunk chunk; chunk.begin < tokens; chunk.begin += chunk.size) {
    if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) {
      return Status(ExitClass::kInterrupted, "decoder.cancelled", "interrupted");
    }
    chunk.size = std::min(limit, tokens - chunk.begin);
    chunk_ids_.clear();
    for (std::int64_t b = 0; b < batch; ++b) {
      const auto row = ids.subspan(static_cast<std::size_t>(b * tokens + chunk.begin),
                                   static_cast<std::size_t>(chunk.size));
      chunk_ids_.insert(chunk_ids_.end(), row.begin(), row.end());
    }
    const auto rows = wanted_rows(chunk, valid, options.rows);
    TRTMC_ASSIGN_OR_RETURN(logits, run_chunk(chunk_ids_, rows));

    const auto* from = static_cast<const float*>(logits.data);
    for (std::int64_t b = 0, used = 0; b < batch; ++b) {
      const std::int64_t left = valid[static_cast<std::size_t>(b)] - chunk.begin;
      const std::int64_t now = std::clamp<std::int64_t>(left, 0, chunk.size);
      ledger_.append(b, std::span(chunk_ids_).subspan(static_cast<std::size_t>(b * chunk.size),
                                                      static_cast<std::size_t>(now)));
      if (one_run) continue;
      const bool all = options.rows == LogitRows::kAll;
      const std::int64_t count = all ? chunk.size : (left >= 1 && left <= chunk.size ? 1 : 0);
      const std::int64_t to = all ? b * tokens + chunk.begin : b;
      std::memcpy(collected_.data() + to * vocab_, from + used * vocab_,
                  static_cast<std::size_t>(count * vocab_) * sizeof(float));
      used += count;
    }
  }
  const float* data = one_run ? static_cast<const float*>(logits.data) : collected_.data();
  return LogitsView{data, out_rows, vocab_};
}

std::int64_t Decoder::reuse_prefix(std::int64_t sequence, std::span<const std::int32_t> prompt) {
  const auto last = static_cast<std::int64_t>(prompt.size()) - 1;
  const std::int64_t kept =
      std::max<std::int64_t>(0, std::min(ledger_.common_prefix(sequence, prompt), last));
  ledger_.rollback(sequence, kept);
  return kept;
}

Status Decoder::rollback(std::int64_t sequence, std::int64_t length) {
  if (sequence < 0 || sequence >= ledger_.batch() || !ledger_.rollback(sequence, length)) {
    return internal_error("decoder.bad_rollback", "sequence " + std::to_string(sequence) +
                          " cannot be cut to " + std::to_string(length) + " ids");
  }
  return Status::ok();
}

}  // namespace trtmc
