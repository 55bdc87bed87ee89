// SHA-256 of a run of memory.
//
// Knows nothing about files. Uses the SHA instructions of the CPU where OpenSSL does.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace trtmc::bundle {

using Sha256 = std::array<unsigned char, 32>;

Sha256 sha256(std::span<const std::byte> data);

// Lower-case hexadecimal, 64 characters.
std::string to_hex(const Sha256& digest);

}  // namespace trtmc::bundle
