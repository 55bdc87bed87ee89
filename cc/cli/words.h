// One rule for empty values: `--name=` means `--name ''`, it never takes the next word; and only
// options whose value is text take an empty one. (CLI11 by itself lets `--name=` swallow the next
// word, and reads '' as if a number had not been given.)
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace trtmc::cli {

// The arguments after the program's name with each `--name=` split in two, up to `--`, in the
// reverse order that CLI::App::parse takes. Throws CLI::ParseError for a flag with an empty value.
std::vector<std::string> words_of(const CLI::App& app, int argc, const char* const* argv);

// From now on the options of `app` and its subcommands refuse empty values, but for texts.
void refuse_empty_values(CLI::App& app);

}  // namespace trtmc::cli
