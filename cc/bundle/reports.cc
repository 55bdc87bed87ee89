#include "cc/bundle/reports.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "cc/bundle/json.h"

namespace trtmc {
namespace {

using bundle::encode_canonical;
using nlohmann::json;

constexpr std::string_view kPrefix = "reports/";
constexpr std::string_view kSuffix = ".json";

using Reports = std::vector<std::pair<std::string, json>>;

Result<json> read(const Bundle& bundle, const std::string& section) {
  TRTMC_ASSIGN_OR_RETURN(const auto bytes, bundle.section(section));
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  json value = json::parse(text, text + bytes.size(), nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) {
    return bad_input("report.schema", std::string(bundle.path()) + ": section '" + section +
                                          "' is not a JSON object; build it again");
  }
  return value;
}

// In the order of the sections.
Result<Reports> all(const Bundle& bundle) {
  Reports found;
  for (const BundleSection& section : bundle.header().sections) {
    const std::string_view name = section.name;
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const auto title =
        name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
    TRTMC_ASSIGN_OR_RETURN(json value, read(bundle, section.name));
    found.emplace_back(std::string(title), std::move(value));
  }
  if (found.empty()) {
    return bad_input("report.missing", std::string(bundle.path()) +
                                           ": the bundle has no build reports; build it again");
  }
  return found;
}

// Strings without quotes, but with JSON's escapes: what is shown must not steer a terminal.
std::string plain(const json& value) {
  const std::string text = encode_canonical(value);
  return value.is_string() && text.size() > 2 ? text.substr(1, text.size() - 2) : text;
}

std::string value_text(const json& value) {
  if (!value.is_object()) return plain(value);
  std::string text;
  for (const auto& [key, item] : value.items()) {
    text += (text.empty() ? "" : ", ") + plain(key) + " " + plain(item);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

Result<std::string> reports_json(const Bundle& bundle) {
  TRTMC_ASSIGN_OR_RETURN(const Reports found, all(bundle));
  json value = json::object();
  for (const auto& [name, facts] : found) value[name] = facts;
  return encode_canonical(json{{"reports", value}});
}

Result<std::string> reports_text(const Bundle& bundle) {
  TRTMC_ASSIGN_OR_RETURN(const Reports found, all(bundle));
  std::string text;
  for (const auto& [name, facts] : found) {
    text += name + "\n";
    for (const auto& [key, value] : facts.items()) {
      text += "  " + plain(key) + " " + value_text(value) + "\n";
    }
  }
  return text;
}

}  // namespace trtmc
