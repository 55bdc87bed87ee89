// `trtmc chat`: one message and its answer, or a conversation at the terminal.

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cc/cli/answer.h"
#include "cc/cli/commands.h"
#include "cc/cli/console.h"
#include "cc/cli/options.h"

namespace trtmc::cli {
namespace {

using json = nlohmann::ordered_json;  // templates print mappings in the order that they were given

struct ChatArguments {
  CommonOptions common;
  SamplingArguments sampling;
  std::optional<std::string> message, system, messages_file, tools_file;
  bool render_only = false;
};

class Conversation {
 public:
  Conversation(const ChatArguments& arguments, const OpenBundle& bundle, std::atomic<bool>& cancel)
      : arguments_(arguments), bundle_(bundle), llm_(*bundle.loaded.task), cancel_(cancel) {}

  Status start();
  Status one_turn();     // answers the messages so far
  Status interactive();  // reads, answers, until end of input
  void say(const char* role, const std::string& text) {
    messages_.push_back({{"role", role}, {"content", text}});
  }

 private:
  const ChatArguments& arguments_;
  const OpenBundle& bundle_;
  TextGeneration& llm_;
  std::atomic<bool>& cancel_;
  json messages_ = json::array();
  ChatOptions chat_;
};

Status Conversation::start() {
  if (llm_.text() == nullptr) {
    return unsupported("generate.no_tokenizer", "the bundle has no tokenizer, so it cannot chat");
  }
  if (arguments_.tools_file) {
    TRTMC_ASSIGN_OR_RETURN(chat_.tools_json, read_text(*arguments_.tools_file));
  }
  if (arguments_.messages_file) {
    TRTMC_ASSIGN_OR_RETURN(const std::string text, read_text(*arguments_.messages_file));
    messages_ = json::parse(text, nullptr, false);
    if (!messages_.is_array()) {
      return bad_input("cli.bad_messages", *arguments_.messages_file +
                       ": expected a JSON array of {\"role\", \"content\"}");
    }
  }
  if (arguments_.system) {
    TRTMC_RETURN_IF_ERROR(check_utf8(*arguments_.system, "--system"));
    say("system", *arguments_.system);
  }
  if (arguments_.message) {
    TRTMC_RETURN_IF_ERROR(check_utf8(*arguments_.message, "the message"));
    say("user", *arguments_.message);
  }
  return Status::ok();
}

Status Conversation::one_turn() {
  if (arguments_.render_only) {
    TRTMC_ASSIGN_OR_RETURN(const std::string text,
                           llm_.text()->render_chat(messages_.dump(), chat_));
    std::fwrite(text.data(), 1, text.size(), stdout);
    return Status::ok();
  }
  TRTMC_ASSIGN_OR_RETURN(const auto ids, llm_.text()->encode_chat(messages_.dump(), chat_));
  TRTMC_ASSIGN_OR_RETURN(const GenerationOptions options,
                         arguments_.sampling.over(llm_.default_sampling()));
  TRTMC_ASSIGN_OR_RETURN(const Answer a,
                         answer(llm_, ids, options, arguments_.common.json, cancel_));
  if (arguments_.common.json) {
    print_json(answer_json(bundle_, a, options));
  } else {
    std::printf("\n");
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", figures_line(a).c_str());
  }
  say("assistant", a.result.text);
  return a.result.reason == FinishReason::kCancelled ? interrupted() : Status::ok();
}

Status Conversation::interactive() {
  const bool terminal = ::isatty(STDIN_FILENO) != 0;
  for (;;) {
    if (terminal) std::fprintf(stderr, "> ");
    std::string line;
    if (!std::getline(std::cin, line)) {
      if (terminal) std::fprintf(stderr, "\n");
      return cancel_ ? interrupted() : Status::ok();
    }
    if (line.empty()) continue;
    TRTMC_RETURN_IF_ERROR(check_utf8(line, "the message"));
    say("user", line);
    const Status status = one_turn();
    if (terminal && status.exit_class() == ExitClass::kInterrupted) {
      cancel_ = false;  // Ctrl-C ended this answer only; at the prompt it ends the program
      continue;
    }
    TRTMC_RETURN_IF_ERROR(status);
  }
}

Status chat(const ChatArguments& arguments) {
  std::atomic<bool>& cancel = catch_interrupt();
  TRTMC_ASSIGN_OR_RETURN(const OpenBundle bundle, open_bundle(arguments.common));
  if (cancel) return interrupted();
  Conversation conversation(arguments, bundle, cancel);
  TRTMC_RETURN_IF_ERROR(conversation.start());
  if (arguments.message || arguments.messages_file) return conversation.one_turn();
  return conversation.interactive();
}

}  // namespace

Command add_chat(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("chat", "Ask a question, or hold a conversation");
  auto a = std::make_shared<ChatArguments>();
  add_common_options(*sub, a->common);
  auto* message = sub->add_option("message,--message,-m", a->message,
                                  "the question (default: a conversation at the terminal)");
  auto* system = sub->add_option("--system", a->system, "what the system message says");
  auto* messages = sub->add_option("--messages", a->messages_file,
                                   "JSON file with the whole conversation; - is the pipe");
  message->excludes(messages);
  system->excludes(messages);
  sub->add_option("--tools", a->tools_file, "JSON file with the tools the model may call");
  sub->add_flag("--render", a->render_only, "print the rendered prompt and stop");
  add_sampling_options(*sub, a->sampling);
  return {sub, [a] { return chat(*a); }, [a] { return a->common.json; }};
}

}  // namespace trtmc::cli
