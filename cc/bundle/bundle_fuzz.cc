// Fuzz target for the bundle reader: the bytes after the first one become a bundle.
//
// An even first byte: the rest is a whole file. An odd one: the rest is a header's text, wrapped
// into a file whose preamble and hash are right, so that the fuzzer reaches what lies behind them.
// Built with -fsanitize=fuzzer under clang; bundle_mutation_test.cc feeds it elsewhere.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "cc/bundle/bundle.h"
#include "cc/bundle/describe.h"
#include "cc/bundle/layout.h"
#include "cc/bundle/sha256.h"

namespace {

std::string wrap(std::string_view text) {
  std::string file(trtmc::bundle::kMagic);
  const auto put = [&file](const auto& value) {
    file.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(std::uint32_t{1});
  put(std::uint32_t{0});
  put(static_cast<std::uint64_t>(text.size()));
  put(trtmc::bundle::sha256(std::as_bytes(std::span(text))));
  put(std::uint64_t{3 * 4096});
  file += text;
  file.resize(std::max<std::size_t>(file.size(), 3 * 4096));
  return file;
}

void read_all(const std::string& path) {
  const auto bundle =
      trtmc::Bundle::open(path, trtmc::VerifyMode::kLazy, trtmc::bundle::VerifiedCache(""));
  if (!bundle) {
    // A failure without a slug or a sentence would be a bug.
    if (bundle.status().code().empty() || bundle.status().message().empty()) std::abort();
    return;
  }
  if (trtmc::describe_json(**bundle).empty()) std::abort();
  if (trtmc::describe_text(**bundle).empty()) std::abort();
  for (const auto& section : (*bundle)->header().sections) {
    const auto bytes = (*bundle)->section(section.name);
    if (bytes && bytes->size() != section.length) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) file = wrap(file);
  static const int descriptor = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (::ftruncate(descriptor, 0) != 0 ||
      ::pwrite(descriptor, file.data(), file.size(), 0) != static_cast<ssize_t>(file.size())) {
    std::abort();
  }
  read_all("/proc/self/fd/" + std::to_string(descriptor));
  return 0;
}
