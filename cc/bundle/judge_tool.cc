// Says what the C++ reader thinks of many small bundles: one slug a line, "ok" for a good one.
//
// Tests use it to hold the Python and the C++ reader together. The only argument is a file;
// standard input has one order a line, answered in order:
//
//   whole                the file as it is
//   slice OFFSET LENGTH  that part of the file, taken as a bundle
//   cut LENGTH           the file cut to LENGTH bytes
//   flip OFFSET MASK     the file with the byte at OFFSET xor MASK
//   path FILE            another file
//   describe             not a verdict: what `inspect` shows of the file, as JSON and as text
//   reports              not a verdict: what `inspect --engine` shows, as JSON and as text
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include "cc/bundle/bundle.h"
#include "cc/bundle/describe.h"
#include "cc/bundle/reports.h"

namespace {

std::string judge_path(const std::string& path) {
  const auto bundle =
      trtmc::Bundle::open(path, trtmc::VerifyMode::kFull, trtmc::bundle::VerifiedCache(""));
  return std::string(bundle.status().code());
}

// Without the newline that the text ends with.
std::string describe(const std::string& path) {
  const auto bundle =
      trtmc::Bundle::open(path, trtmc::VerifyMode::kLazy, trtmc::bundle::VerifiedCache(""));
  if (!bundle) return std::string(bundle.status().code());
  std::string text = trtmc::describe_text(**bundle);
  text.pop_back();
  return trtmc::describe_json(**bundle) + "\n" + text;
}

std::string reports(const std::string& path) {
  const auto bundle =
      trtmc::Bundle::open(path, trtmc::VerifyMode::kLazy, trtmc::bundle::VerifiedCache(""));
  if (!bundle) return std::string(bundle.status().code());
  const auto json = trtmc::reports_json(**bundle);
  auto text = trtmc::reports_text(**bundle);
  if (!json || !text) return std::string(json ? text.status().code() : json.status().code());
  text->pop_back();
  return *json + "\n" + *text;
}

std::string judge_bytes(std::string_view bytes) {
  const int descriptor = ::memfd_create("bundle", MFD_CLOEXEC);
  if (descriptor < 0 || ::write(descriptor, bytes.data(), bytes.size()) !=
                            static_cast<ssize_t>(bytes.size())) {
    return "judge cannot make a file in memory";
  }
  std::string verdict = judge_path("/proc/self/fd/" + std::to_string(descriptor));
  ::close(descriptor);
  return verdict;
}

std::string obey(const std::string& order, const std::string& path,
                 const std::string& base) {
  std::istringstream words(order);
  std::string verb;
  words >> verb;
  if (verb == "path") {
    std::string other;
    std::getline(words >> std::ws, other);
    return judge_path(other);
  }
  if (verb == "describe") return describe(path);
  if (verb == "reports") return reports(path);
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  words >> first >> second;
  if (verb == "whole") return judge_bytes(base);
  if (verb == "slice") return judge_bytes(std::string_view(base).substr(first, second));
  if (verb == "cut") return judge_bytes(std::string_view(base).substr(0, first));
  if (verb == "flip" && first < base.size()) {
    std::string changed = base;
    changed[first] = static_cast<char>(changed[first] ^ static_cast<char>(second));
    return judge_bytes(changed);
  }
  return "unknown order: " + order;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: judge FILE < orders\n";
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  if (!file) {
    std::cerr << "error: cannot read " << argv[1] << "\n";
    return 3;
  }
  const std::string base((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (std::string order; std::getline(std::cin, order);) {
    std::cout << obey(order, argv[1], base) << "\n";
  }
  return 0;
}
