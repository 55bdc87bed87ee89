// Feeds the fuzz target of bundle_fuzz.cc with seeded mutants of a good bundle, for toolchains
// without libFuzzer. It passes when nothing crashes and every failure has a slug and a sentence.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "cc/bundle/sample_bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace trtmc::bundle {
namespace {

void mutate(std::string& data, std::mt19937& random) {
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  if (data.empty()) return;
  switch (below(5)) {
    case 0: data[below(data.size())] = static_cast<char>(random()); break;
    case 1: data[below(data.size())] ^= static_cast<char>(1 << below(8)); break;
    case 2: data.erase(below(data.size()), 1 + below(8)); break;
    case 3: data.insert(below(data.size()), data.substr(below(data.size()), 1 + below(16))); break;
    default: data.resize(below(data.size() + 1));
  }
}

void feed(char first, const std::string& base, int count) {
  std::mt19937 random(7);
  for (int i = 0; i < count; ++i) {
    std::string data = base;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int j = 0; j < changes; ++j) mutate(data, random);
    data.insert(data.begin(), first);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(data.data()), data.size());
  }
}

TEST(Mutation, WholeFiles) { feed(0, sample_bundle(), 5000); }
TEST(Mutation, HeaderTexts) { feed(1, encode_canonical(sample_header()), 20000); }

}  // namespace
}  // namespace trtmc::bundle
