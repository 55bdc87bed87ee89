// KvCache: the state tensors of a decoding engine, allocated once and bound once.
//
// Every state pair of the contract gets one allocation of shape [batch, …, rows, …]; the engine
// updates it in place. Which rows are valid is not its business: CacheLedger counts them.
//
// Knows no model: names, ranks and sizes come from the contract.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trtmc/backend.h"
#include "trtmc/contract.h"
#include "trtmc/status.h"
#include "trtmc/tensor.h"

namespace trtmc {

class KvCache {
 public:
  // `rows` is the wanted capacity, 0 for the contract's limit; a contract with fixed rows always
  // gets those. "decoder.bad_contract" if the state is not of rank 4 or disagrees with itself,
  // "decoder.bad_capacity" if `rows` is beyond the limit; "decoder.out_of_memory" (kResource), before
  // anything is taken, if it does not fit into `available` bytes (0: not known).
  static Result<KvCache> create(DeviceAllocator& allocator, const Contract& contract,
                                std::int64_t batch, std::int64_t rows, std::uint64_t available = 0);

  // Binds each tensor by the name of its input. The cache must outlive the session's runs.
  Status bind(Session& session) const;

  std::int64_t rows() const { return rows_; }
  std::uint64_t bytes() const;
  std::size_t tensors() const { return tensors_.size(); }
  const Tensor& tensor(std::size_t i) const { return tensors_[i].memory.view(); }

 private:
  struct Named {
    std::string name;
    DeviceTensor memory;
  };
  std::vector<Named> tensors_;
  std::int64_t rows_ = 0;
};

}  // namespace trtmc
