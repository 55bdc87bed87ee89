#include "cc/bundle/schema.h"

#include <algorithm>
#include <set>

#include "cc/bundle/json.h"

namespace trtmc::bundle {
namespace {

const nlohmann::json kNull;

bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

// "<part>" of a media type: starts with a letter or digit, at most 63 characters.
bool is_media_part(std::string_view part) {
  return !part.empty() && part.size() <= 63 && (lower(part[0]) || digit(part[0])) &&
         std::all_of(part.begin(), part.end(), [](char c) {
           return lower(c) || digit(c) || c == '.' || c == '+' || c == '-';
         });
}

// A control character of ASCII, or of the C1 block (two bytes: c2 80 to c2 9f).
bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return true;
    if (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

std::string_view found_name(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::null: return "null";
    case nlohmann::json::value_t::boolean: return "true or false";
    case nlohmann::json::value_t::string: return "a string";
    case nlohmann::json::value_t::array: return "an array";
    case nlohmann::json::value_t::object: return "an object";
    case nlohmann::json::value_t::number_float: return "a number with a fraction";
    default: return "an integer";
  }
}

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= 64 && lower(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return lower(c) || digit(c) || c == '_'; });
}

void Node::fail(const Rule& rule, const std::string& what) const {
  diagnosis_->fail(rule, "header: " + where_ + " " + what);
}

void Node::wrong_type(std::string_view expected) const {
  fail(kWrongType,
       "is " + std::string(found_name(*value_)) + ", expected " + std::string(expected));
}

void Node::expect_keys(std::initializer_list<std::string_view> keys) const {
  if (!value_->is_object()) return wrong_type("an object");
  const std::set<std::string_view> known(keys);
  for (const auto& [key, item] : value_->items()) {
    if (!known.contains(key)) {
      return fail(kUnknownKey, "has the unknown key " + quote(key.substr(0, 80)) +
                                   "; a newer trtmc may know it");
    }
  }
  for (std::string_view key : known) {
    if (!value_->contains(key)) {
      return fail(kMissingKey, "lacks the key '" + std::string(key) + "'");
    }
  }
}

Node Node::operator[](std::string_view key) const {
  const bool top = where_ == "top level";
  std::string where = top ? std::string(key) : where_ + "." + std::string(key);
  const auto found = value_->is_object() ? value_->find(key) : value_->end();
  const bool present = value_->is_object() && found != value_->end();
  return Node(present ? *found : kNull, std::move(where), diagnosis_);
}

std::string Node::any_string() const {
  if (!value_->is_string()) {
    wrong_type("a string");
    return {};
  }
  return value_->get<std::string>();
}

std::string Node::text(std::size_t most) const {
  std::string value = any_string();
  if (value_->is_string() && (value.empty() || value.size() > most || has_control(value))) {
    fail(kBadValue, "is " + quote(value.substr(0, 80)) + ", expected 1 to " +
                        std::to_string(most) + " bytes without control characters");
  }
  return value;
}

std::string Node::identifier() const {
  std::string value = any_string();
  if (value_->is_string() && !is_identifier(value)) {
    fail(kBadValue, "is " + quote(value.substr(0, 80)) +
                        ", expected a lower-case identifier of at most 64 characters");
  }
  return value;
}

std::string Node::sha256() const {
  std::string value = any_string();
  const bool fine = value.size() == 64 && std::all_of(value.begin(), value.end(), [](char c) {
    return digit(c) || (c >= 'a' && c <= 'f');
  });
  if (value_->is_string() && !fine) {
    fail(kBadValue, "is " + quote(value.substr(0, 80)) +
                        ", expected a SHA-256 as 64 lower-case hexadecimal digits");
  }
  return value;
}

std::string Node::media_type() const {
  std::string value = any_string();
  const std::size_t slash = value.find('/');
  const bool fine = slash != std::string::npos && is_media_part(value.substr(0, slash)) &&
                    is_media_part(value.substr(slash + 1));
  if (value_->is_string() && !fine) {
    fail(kBadValue, "is " + quote(value.substr(0, 80)) +
                        ", expected a media type such as application/json");
  }
  return value;
}

std::string Node::one_of(std::initializer_list<std::string_view> allowed) const {
  std::string value = any_string();
  if (value_->is_string() && std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    std::string list;
    for (std::string_view one : allowed) list += (list.empty() ? "" : ", ") + std::string(one);
    fail(kBadValue, "is " + quote(value.substr(0, 80)) + ", expected one of " + list);
  }
  return value;
}

std::int64_t Node::integer(std::int64_t lowest, std::int64_t highest) const {
  if (!value_->is_number_integer()) {
    wrong_type("an integer");
    return lowest;
  }
  const auto value = value_->get<std::int64_t>();
  if (value < lowest || value > highest) {
    fail(kBadValue, "is " + std::to_string(value) + ", expected " + std::to_string(lowest) +
                        " to " + std::to_string(highest));
  }
  return value;
}

double Node::real(double lowest, double highest, bool open) const {
  if (!value_->is_number_float()) {
    wrong_type("a number with a fraction");
    return lowest;
  }
  const auto value = value_->get<double>();
  if (value < lowest || (open && value == lowest) || value > highest) {
    fail(kBadValue, "is " + encode_canonical(*value_) + ", expected " + (open ? "above " : "") +
                        encode_canonical(lowest) + " to " + encode_canonical(highest));
  }
  return value;
}

bool Node::boolean() const {
  if (!value_->is_boolean()) {
    wrong_type("true or false");
    return false;
  }
  return value_->get<bool>();
}

void Node::members(const std::function<void(const std::string&, const Node&)>& read) const {
  if (!value_->is_object()) return wrong_type("an object");
  for (const auto& [key, item] : value_->items()) {
    if (!is_identifier(key)) {
      fail(kBadValue, "has the key " + quote(key.substr(0, 80)) +
                          ", expected a lower-case identifier of at most 64 characters");
    }
    read(key, Node(item, where_ + "." + key, diagnosis_));
  }
}

}  // namespace trtmc::bundle
