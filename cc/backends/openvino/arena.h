// ArenaPlan: offsets in one buffer for tensors that live from one step to another.
//
// Tensors whose lives overlap never overlap in memory; others may. Knows sizes and step numbers
// only.
#pragma once

#include <cstddef>
#include <vector>

namespace trtmc::openvino {

class ArenaPlan {
 public:
  // Reserves `bytes` during steps [first, last]; calls come with ascending `first`.
  std::size_t place(std::size_t bytes, int first, int last);
  std::size_t size() const { return size_; }

 private:
  struct Block {
    std::size_t begin, end;
    int last;
  };
  std::vector<Block> live_;  // ascending
  std::size_t size_ = 0;
};

}  // namespace trtmc::openvino
