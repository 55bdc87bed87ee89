#include "cc/bundle/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace trtmc::bundle {
namespace {

std::string hash(const std::string& text) { return to_hex(sha256(std::as_bytes(std::span(text)))); }

// The examples of FIPS 180-2.
TEST(Sha256, KnownDigests) {
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace trtmc::bundle
