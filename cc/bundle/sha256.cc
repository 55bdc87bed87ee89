#include "cc/bundle/sha256.h"

#include <openssl/evp.h>

#include <cstdlib>

namespace trtmc::bundle {

Sha256 sha256(std::span<const std::byte> data) {
  Sha256 digest;
  unsigned int length = digest.size();
  // Fails only when libcrypto itself is broken; no answer is better than an unchecked one.
  if (EVP_Digest(data.data(), data.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1 ||
      length != digest.size()) {
    std::abort();
  }
  return digest;
}

std::string to_hex(const Sha256& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (unsigned char byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace trtmc::bundle
