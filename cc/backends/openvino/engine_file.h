// The CPU engine file: a 4096-byte header, an OpenVINO model as XML, and the weights it refers to.
//
//   0  char[8] magic "TRTMCOVE"     24 u64 xml_length
//   8  u32 version = 1              32 u64 weights_offset (a multiple of 4096)
//   12 u32 flags = 0                40 u64 weights_length
//   16 u64 xml_offset               48 zeros to 4096
//
// Little-endian. Nothing here knows what the XML means.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "trtmc/status.h"

namespace trtmc::openvino {

struct EngineFile {
  std::string_view xml;
  std::span<const std::byte> weights;
};

// Views into `bytes`, which must be aligned to 64 in memory (a memory map is). Every failure is
// "backend.bad_engine" and says which field is wrong.
Result<EngineFile> parse_engine_file(std::span<const std::byte> bytes);

}  // namespace trtmc::openvino
