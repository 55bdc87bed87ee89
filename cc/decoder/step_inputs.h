// StepInputs: the small tensors that tell a decoding engine what to do in one run.
//
//   input_ids, position_ids  int64 [batch, T]    the new ids and their places in the sequence
//   write_indices            int32 [batch]       first cache row that each sequence writes
//   kv_lengths               int32 [batch]       valid rows after the run: write_indices + T
//   logit_rows               int64 [rows]        wanted rows, flat: b * T + t
//
// Buffers are reused; a tensor is bound again only when its address or shape changed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trtmc/backend.h"
#include "trtmc/status.h"

namespace trtmc {

class StepInputs {
 public:
  // `ids` is [batch, T] row-major, `write_indices` one per sequence.
  void set(std::span<const std::int32_t> ids, std::span<const std::int64_t> write_indices,
           std::span<const std::int64_t> logit_rows);

  Status bind(Session& session);

 private:
  struct Bound {
    const void* data = nullptr;
    Shape shape;
  };
  template <class T>
  Status bind_one(Session& session, std::string_view name, std::vector<T>& data, Shape shape,
                  Bound& bound);

  std::int64_t batch_ = 0;
  std::int64_t tokens_ = 0;
  std::vector<std::int64_t> input_ids_, position_ids_, logit_rows_;
  std::vector<std::int32_t> write_indices_, kv_lengths_;
  Bound bound_[5];
};

}  // namespace trtmc
