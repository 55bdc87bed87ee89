// Amounts of memory in messages, and the one sentence for "too little".
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "cc/backends/tensorrt/device.h"

namespace trtmc::tensorrt {

inline std::string bytes_text(std::uint64_t bytes) {
  const char* unit = bytes >= 1000000000 ? "GB" : "MB";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s",
                static_cast<double>(bytes) / (bytes >= 1000000000 ? 1e9 : 1e6), unit);
  return text;
}

// "backend.out_of_memory": what needs it, how much, how much is free, what to do.
inline Status too_little(Device& device, const std::string& what, std::uint64_t needed,
                         const std::string& remedy) {
  std::string free = "an unknown amount";
  if (const Result<MemoryInfo> memory = device.memory(); memory.is_ok()) {
    free = bytes_text(memory->free) + " of " + bytes_text(memory->total);
  }
  return resource_error("backend.out_of_memory",
                        what + " needs " + bytes_text(needed) + " of device memory; " + free +
                            " is free on GPU " + std::to_string(device.ordinal()) + " (" +
                            device.name() + "); " + remedy);
}

// Before memory is taken: does it fit?
inline Status check_fits(Device& device, const std::string& what, std::uint64_t needed,
                         const std::string& remedy) {
  const Result<MemoryInfo> memory = device.memory();
  if (!memory.is_ok() || needed <= memory->free) return memory.status();
  return too_little(device, what, needed, remedy);
}

}  // namespace trtmc::tensorrt
