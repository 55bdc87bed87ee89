// text_tool: drives //cc/text from tests in other languages. One JSON request a line on standard
// input, one JSON answer a line on standard output.
//
//   {"op":"open","tokenizer":PATH,"config":TEXT?}           → {"ok":true,"vocab_size":N}
//   {"op":"encode","text":T,"add_special":B,"parse_special":B} → {"ids":[…]}
//   {"op":"decode","ids":[…],"skip_special":B}              → {"text":T}
//   {"op":"stream","ids":[…],"skip_special":B}              → {"pieces":[…,flush]}
//   {"op":"template","file":TEXT,"config":TEXT}             → {"ok":true}
//   {"op":"render"|"chat","messages":…,"options":{…}}       → {"text":T} | {"text":T,"ids":[…]}
//
// An error is {"error":SENTENCE,"code":SLUG,"exit_class":N}. Only tests use it.
#include <iostream>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "cc/text/chat.h"

namespace {

using Json = nlohmann::ordered_json;
using trtmc::ChatTemplate;
using trtmc::Result;
using trtmc::Status;
using trtmc::Tokenizer;

struct Session {
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;
};

std::string dumped(const Json& options, const char* key) {
  return options.contains(key) && !options[key].is_null() ? options[key].dump() : std::string();
}

trtmc::RenderOptions render_options(const Json& options) {
  trtmc::RenderOptions out;
  out.add_generation_prompt = options.value("add_generation_prompt", false);
  out.tools_json = dumped(options, "tools");
  out.documents_json = dumped(options, "documents");
  out.variables_json = dumped(options, "variables");
  out.template_name = options.value("template_name", "");
  out.continue_field = options.value("continue_field", "");
  if (options.contains("clock")) {
    out.clock = trtmc::FixedClock{options["clock"].value("seconds", std::int64_t{0}),
                                  options["clock"].value("utc_offset", std::int64_t{0})};
  }
  return out;
}

Result<Json> open(Session& session, const Json& request) {
  std::ifstream file(request.at("tokenizer").get<std::string>(), std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  TRTMC_ASSIGN_OR_RETURN(session.tokenizer,
                         Tokenizer::from_json(bytes.str(), request.value("config", "")));
  return Json{{"ok", true}, {"vocab_size", session.tokenizer->vocab_size()}};
}

Result<Json> stream(const Tokenizer& tokenizer, const Json& request) {
  const auto stream = tokenizer.stream(request.value("skip_special", true));
  Json pieces = Json::array();
  for (const std::int32_t id : request.at("ids").get<std::vector<std::int32_t>>()) {
    TRTMC_ASSIGN_OR_RETURN(const std::string piece, stream->push(id));
    pieces.push_back(piece);
  }
  TRTMC_ASSIGN_OR_RETURN(const std::string rest, stream->flush());
  pieces.push_back(rest);
  return Json{{"pieces", pieces}};
}

Result<Json> answer(Session& session, const Json& request) {
  const std::string op = request.at("op");
  if (op == "open") return open(session, request);
  if (op == "template") {
    TRTMC_ASSIGN_OR_RETURN(session.chat_template, ChatTemplate::create(request.value("file", ""),
                                                                       request.value("config", "")));
    return Json{{"ok", true}};
  }
  if (op == "render" || op == "chat") {
    if (session.chat_template == nullptr) return trtmc::usage_error("tool.no_template", "none");
    const Json options = request.value("options", Json::object());
    const std::string messages = request.at("messages").dump();
    if (op == "render") {
      TRTMC_ASSIGN_OR_RETURN(const std::string text,
                             session.chat_template->render(messages, render_options(options)));
      return Json{{"text", text}};
    }
    if (session.tokenizer == nullptr) return trtmc::usage_error("tool.no_tokenizer", "none");
    TRTMC_ASSIGN_OR_RETURN(
        const trtmc::EncodedChat chat,
        trtmc::encode_chat(*session.tokenizer, *session.chat_template, messages,
                           {.render = render_options(options),
                            .special_in_content = options.value("special_in_content", false)}));
    return Json{{"text", chat.text}, {"ids", chat.ids}};
  }
  if (session.tokenizer == nullptr) return trtmc::usage_error("tool.no_tokenizer", "none");
  if (op == "encode") {
    TRTMC_ASSIGN_OR_RETURN(
        const auto ids,
        session.tokenizer->encode(request.at("text").get<std::string>(),
                                  {.add_special = request.value("add_special", true),
                                   .parse_special = request.value("parse_special", true)}));
    return Json{{"ids", ids}};
  }
  if (op == "decode") {
    const auto ids = request.at("ids").get<std::vector<std::int32_t>>();
    TRTMC_ASSIGN_OR_RETURN(const std::string text, session.tokenizer->decode(
                                                       ids, request.value("skip_special", true)));
    return Json{{"text", text}};
  }
  if (op == "stream") return stream(*session.tokenizer, request);
  return trtmc::usage_error("tool.bad_op", "unknown op " + op);
}

Json guarded(Session& session, const std::string& line) {
  try {
    Result<Json> result = answer(session, Json::parse(line));
    if (result.is_ok()) return *std::move(result);
    const Status& status = result.status();
    return {{"error", status.message()}, {"code", status.code()},
            {"exit_class", status.exit_code()}};
  } catch (const std::exception& error) {
    return {{"error", error.what()}, {"code", "tool.exception"}, {"exit_class", 1}};
  }
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  Session session;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << guarded(session, line).dump(-1, ' ', true) << '\n' << std::flush;
  }
}
