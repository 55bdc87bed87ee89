#include "cc/decoder/kv_cache.h"

#include <map>
#include <string>
#include <utility>

namespace trtmc {
namespace {

constexpr std::size_t kRank = 4;     // [batch, heads, rows, head size]
constexpr std::size_t kRowsDim = 2;

Status bad_contract(const std::string& what) {
  return bad_input("decoder.bad_contract", "the engine's contract is not that of a decoder: " + what);
}

}  // namespace

Result<KvCache> KvCache::create(DeviceAllocator& allocator, const Contract& contract,
                                std::int64_t batch, std::int64_t rows) {
  const std::int64_t limit = contract.limits.max_sequence;
  if (limit <= 0) return bad_contract("limits.max_sequence must be positive");
  if (rows < 0 || rows > limit) {
    return usage_error("decoder.bad_capacity", "a cache of " + std::to_string(rows) +
                       " rows was asked for; the bundle allows 1 to " + std::to_string(limit));
  }
  const std::int64_t wanted = rows == 0 ? limit : rows;
  KvCache cache;
  for (const StatePair& pair : contract.state) {
    const TensorSpec* spec = contract.find_input(pair.input);
    if (spec == nullptr || contract.find_output(pair.output) == nullptr) {
      return bad_contract("state pair \"" + pair.input + "\" / \"" + pair.output +
                          "\" is not among its inputs and outputs");
    }
    TRTMC_ASSIGN_OR_RETURN(
        const Shape shape,
        resolve_shape(*spec, {{"batch", batch}, {"max_sequence", wanted}, {"capacity", wanted}}));
    if (shape.rank() != kRank || shape[0] != batch) {
      return bad_contract("state \"" + pair.input + "\" has shape " + to_string(shape) +
                          ", expected [" + std::to_string(batch) + ", heads, rows, size]");
    }
    if (cache.rows_ != 0 && cache.rows_ != shape[kRowsDim]) {
      return bad_contract("state \"" + pair.input + "\" has " + std::to_string(shape[kRowsDim]) +
                          " rows, others have " + std::to_string(cache.rows_));
    }
    cache.rows_ = shape[kRowsDim];
    TRTMC_ASSIGN_OR_RETURN(DeviceTensor memory, allocator.allocate(spec->dtype, shape));
    cache.tensors_.push_back({pair.input, std::move(memory)});
  }
  if (cache.tensors_.empty()) return bad_contract("it has no state");
  if (cache.rows_ > wanted) cache.rows_ = wanted;
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
