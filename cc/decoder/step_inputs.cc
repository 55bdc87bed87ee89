#include "cc/decoder/step_inputs.h"

namespace trtmc {

void StepInputs::set(std::span<const std::int32_t> ids, std::span<const std::int64_t> write_indices,
                     std::span<const std::int64_t> logit_rows) {
  batch_ = static_cast<std::int64_t>(write_indices.size());
  tokens_ = static_cast<std::int64_t>(ids.size()) / batch_;
  input_ids_.assign(ids.begin(), ids.end());
  position_ids_.resize(ids.size());
  write_indices_.assign(write_indices.begin(), write_indices.end());
  kv_lengths_.resize(write_indices.size());
  logit_rows_.assign(logit_rows.begin(), logit_rows.end());
  std::size_t at = 0;
  for (std::size_t b = 0; b < write_indices.size(); ++b) {
    kv_lengths_[b] = static_cast<std::int32_t>(write_indices[b] + tokens_);
    for (std::int64_t t = 0; t < tokens_; ++t) position_ids_[at++] = write_indices[b] + t;
  }
}

template <class T>
Status StepInputs::bind_one(Session& session, std::string_view name, std::vector<T>& data,
                            Shape shape, Bound& bound) {
  if (bound.data == data.data() && bound.shape == shape) return Status::ok();
  TRTMC_RETURN_IF_ERROR(session.bind(name, Tensor::of(data.data(), shape)));
  bound = {data.data(), shape};
  return Status::ok();
}

Status StepInputs::bind(Session& session) {
  const auto rows = static_cast<std::int64_t>(logit_rows_.size());
  const Shape grid{batch_, tokens_};
  TRTMC_RETURN_IF_ERROR(bind_one(session, "input_ids", input_ids_, grid, bound_[0]));
  TRTMC_RETURN_IF_ERROR(bind_one(session, "position_ids", position_ids_, grid, bound_[1]));
  TRTMC_RETURN_IF_ERROR(
      bind_one(session, "write_indices", write_indices_, Shape{batch_}, bound_[2]));
  TRTMC_RETURN_IF_ERROR(bind_one(session, "kv_lengths", kv_lengths_, Shape{batch_}, bound_[3]));
  return bind_one(session, "logit_rows", logit_rows_, Shape{rows}, bound_[4]);
}

}  // namespace trtmc
