// The commands of `trtmc`. Each adds itself to the app and returns what to call when it is chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "trtmc/status.h"

namespace trtmc::cli {

struct Command {
  CLI::App* app = nullptr;
  std::function<Status()> run;
  std::function<bool()> json;  // was --json given?
};

Command add_run(CLI::App& app);
Command add_chat(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_verify(CLI::App& app);
Command add_machine(CLI::App& app);

}  // namespace trtmc::cli
