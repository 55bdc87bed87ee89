// `trtmc`: runs bundles. Exit codes: see ExitClass in trtmc/status.h.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>
#include <vector>

#include "cc/cli/commands.h"
#include "cc/cli/console.h"
#include "cc/cli/words.h"

namespace trtmc::cli {
namespace {

constexpr char kVersion[] = "0.1.0";

constexpr char kFooter[] =
    "Exit codes: 0 ok, 1 internal, 2 usage, 3 bad input, 4 unsupported, 5 target mismatch,\n"
    "6 missing component, 7 out of memory or capacity, 130 interrupted.";

Status run_chosen(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return usage_error("cli.usage", "no command was given; see trtmc --help");
}

// An answer that did not arrive, because the disk is full or nobody holds the other end, is no success.
int delivered(int exit_code) {
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (exit_code != 0 || !failed) return exit_code;
  return report(resource_error("cli.output", "the answer cannot be written to standard output; is "
                               "the disk full?"), false);
}

int main(int argc, char** argv) {
  CLI::App app("Runs TensorRT-Model-Connect bundles.", "trtmc");
  app.set_version_flag("--version", kVersion);
  app.footer(kFooter);
  app.require_subcommand(1);
  const std::vector<Command> commands = {add_run(app), add_chat(app), add_inspect(app),
                                         add_verify(app), add_machine(app)};
  refuse_empty_values(app);
  try {
    app.parse(words_of(app, argc, argv));
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    const bool json = std::any_of(argv, argv + argc,
                                  [](const char* a) { return std::string_view(a) == "--json"; });
    return report(usage_error("cli.usage", std::string(e.what()) + "; see trtmc --help"), json);
  }
  bool json = false;
  for (const Command& command : commands) json |= command.app->parsed() && command.json();
  try {
    return delivered(report(run_chosen(commands), json));
  } catch (const std::bad_alloc&) {
    return report(resource_error("cli.memory", "out of memory; lower --max-sequence, or use a "
                                 "machine with more"), json);
  } catch (const std::exception& e) {
    return report(internal_error("cli.internal", std::string("internal error: ") + e.what()), json);
  }
}

}  // namespace
}  // namespace trtmc::cli

int main(int argc, char** argv) { return trtmc::cli::main(argc, argv); }
