// Strict reading of JSON values: exact types, no unknown or missing keys, limits.
//
// A Node is a place in the header. Reading never stops at a fault: the first one is kept in the
// Diagnosis, later ones are ignored, and the values returned after it are meaningless defaults.
// The order of reading is part of the format's error contract; python/trtmc/bundle/schema.py is
// the twin. Does not know which records exist.
//
//   Diagnosis diagnosis;
//   Node root(header_json, diagnosis);
//   root.expect_keys({"name", "size"});
//   std::string name = root["name"].text(255);
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cc/bundle/rules.h"
#include "trtmc/status.h"

namespace trtmc::bundle {

// Keeps the first fault.
class Diagnosis {
 public:
  void fail(const Rule& rule, std::string message) {
    if (status_.is_ok()) status_ = fault(rule, std::move(message));
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

inline constexpr std::int64_t kMaxInt = std::numeric_limits<std::int64_t>::max();

class Node {
 public:
  Node(const nlohmann::json& root, Diagnosis& diagnosis)
      : value_(&root), where_("top level"), diagnosis_(&diagnosis) {}

  const std::string& where() const { return where_; }
  const nlohmann::json& json() const { return *value_; }
  bool is_null() const { return value_->is_null(); }

  // Fails with `what` is wrong about this place, e.g. "is 3, expected 4".
  void fail(const Rule& rule, const std::string& what) const;

  // The value is an object with exactly these keys.
  void expect_keys(std::initializer_list<std::string_view> keys) const;
  // A member; after a failed expect_keys possibly a null.
  Node operator[](std::string_view key) const;

  std::string any_string() const;
  // One to `most` bytes of UTF-8 without control characters.
  std::string text(std::size_t most = 255) const;
  // A lower-case identifier of at most 64 characters.
  std::string identifier() const;
  // 64 lower-case hexadecimal digits.
  std::string sha256() const;
  std::string media_type() const;
  std::string one_of(std::initializer_list<std::string_view> allowed) const;
  std::int64_t integer(std::int64_t lowest, std::int64_t highest = kMaxInt) const;
  // lowest <= value <= highest, or lowest < value where `open`.
  double real(double lowest, double highest, bool open) const;
  bool boolean() const;

  // `read` for each item, then the limits on their number.
  template <class Read>
  auto list(Read read, std::size_t lowest = 0,
            std::size_t highest = std::numeric_limits<std::size_t>::max()) const {
    std::vector<decltype(read(std::declval<const Node&>()))> items;
    if (!value_->is_array()) {
      wrong_type("an array");
      return items;
    }
    for (std::size_t i = 0; i < value_->size(); ++i) {
      items.push_back(read(Node((*value_)[i], where_ + "[" + std::to_string(i) + "]", diagnosis_)));
    }
    if (items.size() < lowest || items.size() > highest) {
      fail(kBadValue, "has " + std::to_string(items.size()) + " items, expected " +
                          std::to_string(lowest) + " to " + std::to_string(highest));
    }
    return items;
  }

  // Calls `read(key, node)` for each member in key order; keys are identifiers.
  void members(const std::function<void(const std::string&, const Node&)>& read) const;

  template <class Read>
  auto optional(Read read) const -> std::optional<decltype(read(std::declval<const Node&>()))> {
    if (is_null()) return std::nullopt;
    return read(*this);
  }

  void wrong_type(std::string_view expected) const;

 private:
  Node(const nlohmann::json& value, std::string where, Diagnosis* diagnosis)
      : value_(&value), where_(std::move(where)), diagnosis_(diagnosis) {}

  const nlohmann::json* value_;
  std::string where_;
  Diagnosis* diagnosis_;
};

bool is_identifier(std::string_view text);

}  // namespace trtmc::bundle
