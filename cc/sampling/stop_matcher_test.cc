#include "cc/sampling/stop_matcher.h"

#include <gtest/gtest.h>

#include <random>

namespace trtmc {
namespace {

StopMatcher matcher(std::vector<std::string> stops) {
  return std::move(StopMatcher::create(std::move(stops))).value();
}

TEST(StopMatcher, NothingToStopPassesThrough) {
  StopMatcher m = matcher({});
  EXPECT_EQ(m.push("abc"), "abc");
  EXPECT_EQ(m.flush(), "");
}

TEST(StopMatcher, EmptyStopTextIsRefused) {
  auto result = StopMatcher::create({"a", ""});
  ASSERT_FALSE(result.is_ok());
  EXPECT_EQ(result.status().code(), "generate.bad_stop");
}

TEST(StopMatcher, NoPieceOfALongStopTextGetsOut) {
  StopMatcher m = matcher({"DEFGHIJ"});
  std::string shown;
  for (char c : std::string("DEFGHIJK")) shown += m.push(std::string(1, c));
  EXPECT_EQ(shown, "");
  EXPECT_EQ(m.match(), "DEFGHIJ");
  EXPECT_EQ(m.flush(), "");
}

TEST(StopMatcher, HeldTextComesOutOnceItCannotMatch) {
  StopMatcher m = matcher({"abc"});
  EXPECT_EQ(m.push("xa"), "x");
  EXPECT_EQ(m.push("b"), "");
  EXPECT_EQ(m.push("a"), "ab");
  EXPECT_EQ(m.flush(), "a");
}

TEST(StopMatcher, OverlappingBeginnings) {
  StopMatcher m = matcher({"aab"});
  EXPECT_EQ(m.push("aaa"), "a");
  EXPECT_EQ(m.push("b"), "");
  EXPECT_TRUE(m.matched());
}

TEST(StopMatcher, TextBeforeTheMatchIsShown) {
  StopMatcher m = matcher({"\n\n", "END"});
  EXPECT_EQ(m.push("one\n"), "one");
  EXPECT_EQ(m.push("two EN"), "\ntwo ");
  EXPECT_EQ(m.push("D and more"), "");
  EXPECT_EQ(m.match(), "END");
  EXPECT_EQ(m.push("more"), "");
}

// The definition by whole-text search: cut at the stop text that is complete first.
std::string by_search(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t end = 0; end <= text.size(); ++end) {
    std::size_t begin = std::string::npos;
    for (const auto& s : stops) {
      if (end >= s.size() && text.compare(end - s.size(), s.size(), s) == 0) {
        begin = std::min(begin, end - s.size());
      }
    }
    if (begin != std::string::npos) return text.substr(0, begin);
  }
  return text;
}

TEST(StopMatcher, AnyCuttingGivesTheWholeTextAnswer) {
  std::mt19937 rng(5);
  const std::vector<std::string> stops = {"aba", "bb", "cabac"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (int i = 0; i < 14; ++i) text += static_cast<char>('a' + rng() % 3);
    StopMatcher m = matcher(stops);
    std::string shown;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t n = 1 + rng() % 4;
      shown += m.push(std::string_view(text).substr(at, n));
      at += n;
    }
    shown += m.flush();
    ASSERT_EQ(shown, by_search(text, stops)) << text;
  }
}

}  // namespace
}  // namespace trtmc
