#include "cc/decoder/kv_cache.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace trtmc {
namespace {

constexpr std::size_t kRank = 4;     // [batch, heads, rows, head size]
constexpr std::size_t kRowsDim = 2;

Status bad_contract(const std::string& what) {
  return bad_input("decoder.bad_contract", "the engine's contract is not that of a decoder: " + what);
}

struct Planned {
  const TensorSpec* spec = nullptr;
  Shape shape;
};

Result<std::vector<Planned>> plan(const Contract& contract, std::int64_t batch,
                                  std::int64_t rows) {
  std::vector<Planned> planned;
  for (const StatePair& pair : contract.state) {
    const TensorSpec* spec = contract.find_input(pair.input);
    if (spec == nullptr || contract.find_output(pair.output) == nullptr) {
      return bad_contract("state pair \"" + pair.input + "\" / \"" + pair.output +
                          "\" is not among its inputs and outputs");
    }
    TRTMC_ASSIGN_OR_RETURN(
        const Shape shape,
        resolve_shape(*spec, {{"batch", batch}, {"max_sequence", rows}, {"capacity", rows}}));
    if (shape.rank() != kRank || shape[0] != batch) {
      return bad_contract("state \"" + pair.input + "\" has shape " + to_string(shape) +
                          ", expected [" + std::to_string(batch) + ", heads, rows, size]");
    }
    if (!planned.empty() && planned.front().shape[kRowsDim] != shape[kRowsDim]) {
      return bad_contract("state \"" + pair.input + "\" has " + std::to_string(shape[kRowsDim]) +
                          " rows, others have " + std::to_string(planned.front().shape[kRowsDim]));
    }
    planned.push_back({spec, shape});
  }
  if (planned.empty()) return bad_contract("it has no state");
  return planned;
}

std::string megabytes(std::uint64_t bytes) {
  return std::to_string((bytes + 999999) / 1000000) + " MB";
}

Status check_fits(const std::vector<Planned>& planned, std::int64_t batch,
                  std::uint64_t available) {
  std::uint64_t bytes = 0;
  for (const Planned& one : planned) bytes += storage_bytes(one.spec->dtype, one.shape);
  if (available == 0 || bytes <= available) return Status::ok();
  const std::int64_t rows = planned.front().shape[kRowsDim];
  const auto fitting = static_cast<std::int64_t>(static_cast<double>(available) /
                                                 static_cast<double>(bytes) *
                                                 static_cast<double>(rows));
  const bool fixed = std::holds_alternative<std::int64_t>(planned.front().spec->shape[kRowsDim]);
  return resource_error(
      "decoder.out_of_memory",
      "a cache of " + std::to_string(rows) + " rows for a batch of " + std::to_string(batch) +
          " needs " + megabytes(bytes) + " of the device's memory, " + megabytes(available) +
          " is free; " +
          (fixed ? "build the bundle with a lower max_sequence" : "lower max_sequence") +
          " (about " + std::to_string(fitting) + " fit), or lower the batch");
}

}  // namespace

Result<KvCache> KvCache::create(DeviceAllocator& allocator, const Contract& contract,
                                std::int64_t batch, std::int64_t rows, std::uint64_t available) {
  const std::int64_t limit = contract.limits.max_sequence;
  if (limit <= 0) return bad_contract("limits.max_sequence must be positive");
  if (rows < 0 || rows > limit) {
    return usage_error("decoder.bad_capacity", "a cache of " + std::to_string(rows) +
                       " rows was asked for; the bundle allows 1 to " + std::to_string(limit));
  }
  const std::int64_t wanted = rows == 0 ? limit : rows;
  TRTMC_ASSIGN_OR_RETURN(const std::vector<Planned> planned, plan(contract, batch, wanted));
  TRTMC_RETURN_IF_ERROR(check_fits(planned, batch, available));
  KvCache cache;
  for (const Planned& one : planned) {
    TRTMC_ASSIGN_OR_RETURN(DeviceTensor memory,
                           allocator.allocate(one.spec->dtype, one.shape));
    cache.tensors_.push_back({one.spec->name, std::move(memory)});
  }
  cache.rows_ = std::min(planned.front().shape[kRowsDim], wanted);
  return cache;
}

Status KvCache::bind(Session& session) const {
  for (const Named& one : tensors_) {
    TRTMC_RETURN_IF_ERROR(session.bind(one.name, one.memory.view()));
  }
  return Status::ok();
}

std::uint64_t KvCache::bytes() const {
  std::uint64_t sum = 0;
  for (const Named& one : tensors_) sum += one.memory.view().bytes();
  return sum;
}

}  // namespace trtmc
