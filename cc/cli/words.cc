#include "cc/cli/words.h"

#include <algorithm>
#include <string_view>

namespace trtmc::cli {
namespace {

// Options that judge an empty value themselves.
constexpr const char* kTexts[] = {"--prompt", "--message", "--system", "--stop", "--ids"};

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

bool is_text(const CLI::Option& option) {
  return std::any_of(std::begin(kTexts), std::end(kTexts),
                     [&](const char* name) { return option.check_name(name); });
}

// Is `name` a flag of the program or of one of its commands?
bool names_a_flag(const CLI::App& app, const std::string& name) {
  const CLI::Option* const option = app.get_option_no_throw(name);
  if (option != nullptr && is_flag(*option)) return true;
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  return std::any_of(commands.begin(), commands.end(),
                     [&](const CLI::App* command) { return names_a_flag(*command, name); });
}

}  // namespace

std::vector<std::string> words_of(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> words;
  bool options = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    options &= word != "--";
    const bool empty_value = word.size() > 3 && word.starts_with("--") && word.ends_with("=") &&
                             word.find('=') == word.size() - 1;
    if (!options || !empty_value) {
      words.push_back(word);
      continue;
    }
    const std::string name = word.substr(0, word.size() - 1);
    if (names_a_flag(app, name)) throw CLI::ArgumentMismatch(name + " takes no value");
    words.push_back(name);
    words.emplace_back();
  }
  std::reverse(words.begin(), words.end());
  return words;
}

void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (is_flag(*option) || is_text(*option)) continue;
    option->check([](const std::string& value) {
      return value.empty() ? std::string("its value is empty; leave the option out instead")
                           : std::string();
    });
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    refuse_empty_values(*command);
  }
}

}  // namespace trtmc::cli
