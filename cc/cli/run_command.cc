// `trtmc run`: one raw prompt, or raw ids, in; text or logits out.

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <utility>

#include "cc/cli/answer.h"
#include "cc/cli/commands.h"
#include "cc/cli/console.h"
#include "cc/cli/npy.h"
#include "cc/cli/options.h"

namespace trtmc::cli {
namespace {

struct RunOptions {
  CommonOptions common;
  SamplingArguments sampling;
  std::optional<std::string> prompt, prompt_file, ids;
  bool plain = false;  // special tokens in the prompt are ordinary text
  std::string dump_logits;
  std::int64_t chunk = 0;
  int repeat = 1;
};

Result<std::vector<std::int32_t>> parse_ids(std::string_view text) {
  std::vector<std::int32_t> ids;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(", \n\t"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    std::int32_t id = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || rest != word.data() + word.size()) {
      return usage_error("cli.bad_ids", "--ids: \"" + std::string(word) +
                         "\" is not a token id; give numbers with commas between");
    }
    ids.push_back(id);
  }
  return ids;
}

// The prompt as typed, from a file, or from standard input when something is piped in.
Result<std::string> prompt_text(const RunOptions& o) {
  std::string text;
  if (o.prompt) {
    text = *o.prompt;
  } else if (o.prompt_file || ::isatty(STDIN_FILENO) == 0) {
    TRTMC_ASSIGN_OR_RETURN(text, read_text(o.prompt_file.value_or("-")));
  } else {
    return usage_error("cli.no_prompt",
                       "there is no prompt: give one, or --prompt-file, --ids, or a pipe");
  }
  TRTMC_RETURN_IF_ERROR(check_utf8(text, "the prompt"));
  if (text.empty()) {
    return bad_input("generate.empty_prompt", "the prompt is empty; give at least one character");
  }
  return text;
}

Status no_tokenizer() {
  return unsupported("generate.no_tokenizer", "the bundle has no tokenizer; give --ids");
}

Result<std::vector<std::int32_t>> prompt_ids(const RunOptions& o, const std::string& text,
                                             const TextGeneration& llm) {
  if (o.ids) return parse_ids(*o.ids);
  if (llm.text() == nullptr) return no_tokenizer();
  return llm.text()->encode(text, {.add_special = true, .parse_special = !o.plain});
}

Status dump_logits(const RunOptions& o, const OpenBundle& bundle,
                   std::span<const std::int32_t> ids) {
  TRTMC_ASSIGN_OR_RETURN(const LogitsView logits, bundle.loaded.task->logits(ids, o.chunk));
  TRTMC_RETURN_IF_ERROR(write_npy(o.dump_logits, logits.data, logits.rows, logits.vocab));
  if (o.common.json) {
    print_json({{"logits", o.dump_logits},
                {"rows", logits.rows},
                {"vocab", logits.vocab},
                {"warnings", warnings_json(bundle)}});
  }
  return Status::ok();
}

Status run(const RunOptions& o) {
  const std::atomic<bool>& cancel = catch_interrupt();
  std::string text;
  if (!o.ids) {
    TRTMC_ASSIGN_OR_RETURN(text, prompt_text(o));
  }
  TRTMC_ASSIGN_OR_RETURN(const OpenBundle bundle, open_bundle(o.common));
  TextGeneration& llm = *bundle.loaded.task;
  if (cancel) return interrupted();
  TRTMC_ASSIGN_OR_RETURN(const auto ids, prompt_ids(o, text, llm));
  if (!o.dump_logits.empty()) return dump_logits(o, bundle, ids);

  TRTMC_ASSIGN_OR_RETURN(const GenerationOptions options,
                         o.sampling.over(llm.default_sampling()));
  for (int i = 0; i < o.repeat; ++i) {
    llm.reset();
    TRTMC_ASSIGN_OR_RETURN(const Answer a, answer(llm, ids, options, o.common.json, cancel));
    if (o.common.json) {
      print_json(answer_json(bundle, a, options));
    } else {
      std::printf("\n");
      std::fflush(stdout);
      std::fprintf(stderr, "%s\n", figures_line(a).c_str());
    }
    if (a.result.reason == FinishReason::kCancelled) return interrupted();
  }
  return Status::ok();
}

}  // namespace

Command add_run(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("run", "Continue a raw prompt (no chat template)");
  auto o = std::make_shared<RunOptions>();
  add_common_options(*sub, o->common);
  auto* prompt = sub->add_option("prompt,--prompt,-p", o->prompt, "the text to continue");
  auto* file = sub->add_option("--prompt-file", o->prompt_file, "read the prompt; - is the pipe");
  auto* ids = sub->add_option("--ids", o->ids, "token ids instead of text: 1,2,3");
  prompt->excludes(file)->excludes(ids);
  file->excludes(ids);
  sub->add_flag("--plain", o->plain, "take special tokens in the prompt as ordinary text");
  add_sampling_options(*sub, o->sampling);
  sub->add_option("--dump-logits", o->dump_logits,
                  "write the logits of every prompt id to this .npy file and stop");
  sub->add_option("--chunk", o->chunk, "with --dump-logits: evaluate that many ids at a time");
  sub->add_option("--repeat", o->repeat, "answer that often, each from an empty cache")
      ->check(CLI::PositiveNumber);
  return {sub, [o] { return run(*o); }, [o] { return o->common.json; }};
}

}  // namespace trtmc::cli
