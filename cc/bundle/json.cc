#include "cc/bundle/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "cc/bundle/rules.h"

namespace trtmc::bundle {
namespace {

using Json = nlohmann::json;

// Digits and exponent as Python's repr lays them out: plain from 1e-4 up to below 1e16.
void append_double(double value, std::string& out) {
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<std::size_t>(end.ptr - buffer));
  if (text.front() == '-') {
    out += '-';
    text.remove_prefix(1);
  }
  const std::size_t mark = text.find('e');
  int exponent = 0;
  const char* digits_of_exponent = text.data() + mark + (text[mark + 1] == '+' ? 2 : 1);
  std::from_chars(digits_of_exponent, text.data() + text.size(), exponent);
  std::string digits(text.substr(0, mark));
  std::erase(digits, '.');
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (digits.size() > 1) out += '.' + digits.substr(1);
    const std::string magnitude = std::to_string(std::abs(exponent));
    out += exponent < 0 ? "e-" : "e+";
    out += (magnitude.size() < 2 ? "0" : "") + magnitude;
  } else if (exponent < 0) {
    out += "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  } else {
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() < whole) digits.append(whole - digits.size(), '0');
    out += digits.substr(0, whole) + '.' + (digits.size() > whole ? digits.substr(whole) : "0");
  }
}

void append_string(std::string_view text, std::string& out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\t': out += "\\t"; break;
      case '\n': out += "\\n"; break;
      case '\f': out += "\\f"; break;
      case '\r': out += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kDigits[c >> 4];
          out += kDigits[c & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void append(const Json& value, std::string& out) {
  switch (value.type()) {
    case Json::value_t::object: {
      char separator = '{';
      for (const auto& [key, item] : value.items()) {  // std::map: keys in byte order
        out += separator;
        append_string(key, out);
        out += ':';
        append(item, out);
        separator = ',';
      }
      out += value.empty() ? "{}" : "}";
      break;
    }
    case Json::value_t::array: {
      char separator = '[';
      for (const Json& item : value) {
        out += separator;
        append(item, out);
        separator = ',';
      }
      out += value.empty() ? "[]" : "]";
      break;
    }
    case Json::value_t::string: append_string(value.get_ref<const std::string&>(), out); break;
    case Json::value_t::boolean: out += value.get<bool>() ? "true" : "false"; break;
    case Json::value_t::number_integer: out += std::to_string(value.get<std::int64_t>()); break;
    case Json::value_t::number_unsigned: out += std::to_string(value.get<std::uint64_t>()); break;
    case Json::value_t::number_float: append_double(value.get<double>(), out); break;
    default: out += "null";
  }
}

// Builds a value from parse events, and remembers what a plain parse would hide.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override { return put(value); }
  bool number_unsigned(std::uint64_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return out_of_range(std::to_string(value));
    }
    return put(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& digits) override {
    // An integer that does not fit arrives here as well.
    if (digits.find_first_of(".eE") == std::string::npos) return out_of_range(digits);
    return put(value);
  }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (duplicate_.empty() && stack_.back()->contains(name)) duplicate_ = quote(name);
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    problem_ = error.what();
    return false;
  }

  Json root;
  const std::string& duplicate() const { return duplicate_; }  // quoted, empty if there is none
  const std::string& problem() const { return problem_; }

 private:
  bool out_of_range(const std::string& digits) {
    problem_ = digits.substr(0, 24) + " does not fit in 64 signed bits";
    return false;
  }
  Json* place(Json&& value) {
    if (stack_.empty()) return &(root = std::move(value));
    Json& parent = *stack_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }
  bool put(Json&& value) {
    place(std::move(value));
    return true;
  }
  bool open(Json&& value) {
    stack_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  // Pointers stay valid: a container grows only while it is at the back.
  std::vector<Json*> stack_;
  std::string key_;
  std::string duplicate_;
  std::string problem_;
};

// Nesting is bounded before the text is parsed.
Status check_depth(std::string_view data) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < data.size(); ++at) {
    const char c = data[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) {
        return fault(kHeaderDepth, "the header nests deeper than " + std::to_string(kMaxDepth) +
                                       " at its byte " + std::to_string(at));
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return Status::ok();
}

Status not_canonical(std::string_view expected, std::string_view found) {
  const auto difference =
      std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
  const auto at = static_cast<std::size_t>(difference.first - expected.begin());
  const auto near = [at](std::string_view text) {
    return at < text.size() ? quote(text.substr(at, 24)) : std::string("its end");
  };
  return fault(kHeaderNotCanonical, "the header is not in canonical form from its byte " +
                                        std::to_string(at) + " on: expected " + near(expected) +
                                        ", found " + near(found));
}

}  // namespace

std::string encode_canonical(const Json& value) {
  std::string out;
  append(value, out);
  return out;
}

std::string quote(std::string_view text) {
  std::string out;
  append_string(text, out);
  return out;
}

Result<Json> decode_canonical(std::string_view data) {
  TRTMC_RETURN_IF_ERROR(check_depth(data));
  if (data.starts_with("\xef\xbb\xbf")) {
    return fault(kHeaderJson, "the header starts with a byte order mark");
  }
  Builder builder;
  if (!Json::sax_parse(data, &builder)) {
    return fault(kHeaderJson, "the header is no JSON: " + builder.problem());
  }
  if (!builder.duplicate().empty()) {
    return fault(kDuplicateKey,
                 "the header has the key " + builder.duplicate() + " twice in one object");
  }
  const std::string canonical = encode_canonical(builder.root);
  if (canonical != data) return not_canonical(canonical, data);
  return std::move(builder.root);
}

}  // namespace trtmc::bundle
