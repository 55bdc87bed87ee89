// toy_bundle OUT: writes a small bundle for tests of the command line tool and of the loader.
//
// Its model walks in a circle: after id i comes i + 1, after the last one 0.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "cc/testing/bundle_file.h"

int main(int argc, char** argv) {
  using namespace trtmc;
  CLI::App app("Writes a toy bundle.");
  testing::BundleParts parts;
  std::string out, tokenizer, config, chat_template;
  std::int64_t vocab = 26;
  bool sm_89 = false;
  parts.limits = {1, 64, 64};
  app.add_option("out", out)->required();
  app.add_option("--strategy", parts.strategy);
  app.add_option("--task", parts.task);
  app.add_option("--target", parts.target.name);
  app.add_option("--compiler", parts.target.compiler);
  app.add_option("--compiler-version", parts.target.compiler_version);
  app.add_option("--arch", parts.target.arch);
  app.add_option("--compute-capability", parts.target.compute_capability);
  app.add_flag("--and-sm-89", sm_89, "the same engine for a second target, sm_89");
  app.add_option("--vocab", vocab);
  app.add_option("--max-sequence", parts.limits.max_sequence);
  app.add_option("--eos", parts.eos);
  app.add_option("--tokenizer", tokenizer);
  app.add_option("--tokenizer-config", config);
  app.add_option("--chat-template", chat_template);
  CLI11_PARSE(app, argc, argv);

  if (sm_89) {
    parts.more_targets = {{"sm_89", "tensorrt_rtx", "1.7.1", "13.0", "8.9", "linux", "x86_64"}};
  }
  std::vector<std::int32_t> circle(static_cast<std::size_t>(vocab) + 1);
  std::iota(circle.begin(), circle.end(), 0);
  circle.back() = 0;
  parts.model = testing::TableModel::path(vocab, circle);
  for (const auto& [role, path] : {std::pair{"tokenizer", tokenizer},
                                   {"tokenizer_config", config},
                                   {"chat_template", chat_template}}) {
    if (path.empty()) continue;
    std::ifstream file(path, std::ios::binary);
    parts.assets[role] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  const Status status = testing::write_bundle_file(out, parts);
  if (!status.is_ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.exit_code();
}
