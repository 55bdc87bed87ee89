// Chat template behaviour that other runtimes got wrong, limits, and what surrounds a template.
// The expected texts are those of Transformers 5.24.0; tests/text has hundreds more.
#include "cc/text/chat_template.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>

namespace trtmc {
namespace {

constexpr std::string_view kUser = R"([{"role":"user","content":"hi"}])";

Result<std::string> try_render(std::string_view file, std::string_view messages = kUser,
                               const RenderOptions& options = {}, std::string_view config = "") {
  auto chat_template = ChatTemplate::create(file, config);
  if (!chat_template.is_ok()) return chat_template.status();
  return (*chat_template)->render(messages, options);
}

std::string render(std::string_view file, std::string_view messages = kUser,
                   const RenderOptions& options = {}, std::string_view config = "") {
  auto text = try_render(file, messages, options, config);
  EXPECT_TRUE(text.is_ok()) << text.status().message();
  return text.is_ok() ? *text : "?";
}

std::string code(const Result<std::string>& result) {
  return result.is_ok() ? "ok: " + *result : std::string(result.status().code());
}

TEST(ChatTemplate, RaiseExceptionIsTheError) {
  const std::string_view file =
      "{% for m in messages %}{% if not loop.first and m.role == messages[loop.index0 - 1].role %}"
      "{{ raise_exception('roles must alternate') }}{% endif %}{{ m.role }},{% endfor %}";
  const auto two = try_render(
      file, R"([{"role":"user","content":"a"},{"role":"user","content":"b"},)"
            R"({"role":"assistant","content":"c"}])");
  ASSERT_FALSE(two.is_ok());
  EXPECT_EQ(two.status().code(), "template.raised");
  EXPECT_EQ(two.status().message(), "roles must alternate");
  EXPECT_EQ(two.status().exit_class(), ExitClass::kBadInput);
  EXPECT_EQ(render(file, R"([{"role":"user"},{"role":"assistant"},{"role":"user"}])"),
            "user,assistant,user,");
}

TEST(ChatTemplate, BlocksLeaveNoWhiteSpace) {
  EXPECT_EQ(render("{% for m in messages %}\n  {% if true %}\n    {{ m.content }}\n"
                   "  {% endif %}\n{% endfor %}\nEND\n"),
            "    hi\nEND");
  EXPECT_EQ(render("a\r\n{% if true %}\r\nb{% endif %}\r\n"), "a\nb");
}

TEST(ChatTemplate, ToJsonIndentsAndLeavesMarkupAlone) {
  EXPECT_EQ(render("<tool_call>{{ tools[0]|tojson(indent=4) }}</tool_call>", kUser,
                   {.tools_json = R"([{"name":"w","a":[1,{"k":[]}],"e":{}}])"}),
            "<tool_call>{\n    \"name\": \"w\",\n    \"a\": [\n        1,\n        {\n"
            "            \"k\": []\n        }\n    ],\n    \"e\": {}\n}</tool_call>");
  EXPECT_EQ(render("{{ '<b>&amp;</b>' }}{{ '<b>'|tojson }}"), "<b>&amp;</b>\"<b>\"");
}

TEST(ChatTemplate, NoneUndefinedAndMissingDiffer) {
  EXPECT_EQ(render("{%- if tools is none %}NONE{% endif %}{{ undefined_thing }}|"
                   "{{ messages[0].nope }}"),
            "NONE|");
  EXPECT_EQ(code(try_render("{{ undefined_thing.x }}")), "template.failed");
}

TEST(ChatTemplate, ClockIsLocalEnglishAndInjectable) {
  const std::string_view file =
      "{{ strftime_now('%d %b %Y') }}{% if strftime_now is defined %}D{% endif %}";
  EXPECT_EQ(render(file, kUser, {.clock = FixedClock{1721999999, 14 * 3600}}), "27 Jul 2024D");
  EXPECT_EQ(render(file, kUser, {.clock = FixedClock{1721999999, 0}}), "26 Jul 2024D");
}

TEST(ChatTemplate, MachineClockFollowsTimeZoneAndIgnoresLanguage) {
  setenv("LC_ALL", "de_DE.UTF-8", 1);
  setenv("TZ", "Pacific/Kiritimati", 1);
  tzset();
  const std::string before = render("{{ strftime_now('%d %B %Y') }}");
  std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char want[64];  // this process never calls setlocale, so strftime writes English
  std::strftime(want, sizeof want, "%d %B %Y", &local);
  const std::string after = render("{{ strftime_now('%d %B %Y') }}");
  EXPECT_TRUE(before == want || after == want) << before << " " << want;
  unsetenv("TZ");
  unsetenv("LC_ALL");
  tzset();
}

TEST(ChatTemplate, SpecialTokensOfTheConfigurationAreVariables) {
  const std::string_view config =
      R"({"bos_token":"<s>","eos_token":{"__type":"AddedToken","content":"</s>"},)"
      R"("pad_token":null,"image_token":"<image>","extra_special_tokens":{"audio":"<a>"}})";
  EXPECT_EQ(render("{{ bos_token }}{{ eos_token }}{{ pad_token }}{{ image_token }}{{ audio }}",
                   kUser, {}, config),
            "<s></s><image><a>");
  EXPECT_EQ(render("{{ bos_token }}", kUser, {.variables_json = R"({"bos_token":"B"})"}, config),
            "B");
}

TEST(ChatTemplate, FileComesBeforeConfiguration) {
  const std::string_view config = R"({"chat_template":"config"})";
  EXPECT_EQ(render("file", kUser, {}, config), "file");
  EXPECT_EQ(render("", kUser, {}, config), "config");
  EXPECT_EQ(code(try_render("", kUser, {}, "{}")), "text.no_chat_template");
  EXPECT_EQ(code(try_render("", kUser, {}, "")), "text.no_chat_template");
  EXPECT_EQ(code(try_render("", kUser, {}, R"({"chat_template":5})")), "template.bad_config");
}

TEST(ChatTemplate, NamedTemplates) {
  const std::string_view config =
      R"({"chat_template":[{"name":"default","template":"D"},{"name":"tool_use","template":"T"},)"
      R"({"name":"rag","template":"R"}]})";
  EXPECT_EQ(render("", kUser, {}, config), "D");
  EXPECT_EQ(render("", kUser, {.tools_json = "[]"}, config), "T");
  EXPECT_EQ(render("", kUser, {.template_name = "rag"}, config), "R");
  const auto unknown = try_render("", kUser, {.template_name = "x"}, config);
  EXPECT_EQ(code(unknown), "template.unknown_name");
  EXPECT_NE(unknown.status().message().find("tool_use"), std::string::npos);
  EXPECT_EQ(code(try_render("", kUser, {}, R"({"chat_template":[{"name":"a","template":"A"}]})")),
            "template.unknown_name");
}

TEST(ChatTemplate, MessagesAreTidied) {
  const std::string_view file =
      "{% for m in messages %}{{ m.keys()|list|sort|join(',') }};{% endfor %}";
  EXPECT_EQ(render(file, R"([{"role":"user","content":"a","name":null},)"
                         R"({"role":"assistant","reasoning":"r","content":null}])"),
            "content,role;reasoning,reasoning_content,role,thinking;");
}

TEST(ChatTemplate, ConversationErrors) {
  EXPECT_EQ(code(try_render("x", "[]")), "chat.empty");
  EXPECT_EQ(code(try_render("x", "{}")), "chat.bad_messages");
  EXPECT_EQ(code(try_render("x", "[1]")), "chat.bad_messages");
  EXPECT_EQ(code(try_render("x", "[")), "chat.bad_json");
  EXPECT_EQ(code(try_render("x", "[\"\xff\"]")), "text.invalid_utf8");
  EXPECT_EQ(code(try_render("x", kUser, {.tools_json = "{}"})), "chat.bad_list");
  EXPECT_EQ(code(try_render("x", kUser, {.variables_json = "[]"})), "chat.bad_variables");
}

TEST(ChatTemplate, SyntaxErrorsComeEarlyAndNameTheLine) {
  const auto bad = ChatTemplate::create("a\nb{% if %}", "");
  ASSERT_FALSE(bad.is_ok());
  EXPECT_EQ(bad.status().code(), "template.syntax");
  EXPECT_NE(bad.status().message().find("line 2"), std::string::npos) << bad.status().message();
  EXPECT_EQ(ChatTemplate::create("{% nosuchtag %}", "").status().code(), "template.syntax");
}

TEST(ChatTemplate, FailuresNameTheLine) {
  const auto bad = try_render("a\nb\n{{ 'a' + none }}");
  EXPECT_EQ(code(bad), "template.failed");
  EXPECT_NE(bad.status().message().find("line 3"), std::string::npos) << bad.status().message();
}

// Each of these would take all memory, all time or the stack.
TEST(ChatTemplate, HostileTemplatesEndInAnError) {
  const std::string deep(3000, '(');
  const std::string_view hostile[] = {
      "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
      "{{ 'x' * 100000000000 }}",
      "{{ [0] * 1000000000 }}",
      "{% set ns = namespace(s='xxxxxxxxxxxxxxxx') %}"
      "{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
      "{% set ns = namespace(s='xxxxxxxxxxxxxxxx') %}"
      "{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
      "{% set ns = namespace(l=[1, 2, 3, 4]) %}"
      "{% for i in range(60) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
      "{% set ns = namespace(s='aaaaaaaa') %}"
      "{% for i in range(40) %}{% set ns.s = ns.s|replace('a', 'aaaa') %}{% endfor %}",
      "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
      "{% set ns = namespace(l=[]) %}{% for i in range(9999) %}{% set ns.l = [ns.l] %}{% endfor %}",
      "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns.me }}",
      "{{ '%999999999d' % 1 }}",
      "{{ 'a'.center(999999999) }}",
      "{{ '{:999999999}'.format(1) }}",
      "{{ range(999999999)|list }}",
      "{% for i in range(99999) %}{% set x %}{{ 'yyyyyyyyyyyyyyyy' * 1000 }}{% endset %}{% endfor %}",
      "{{ 10 ** 1000 }}",
      "{{ 'x'|indent(999999999) }}",
  };
  for (const auto file : hostile) {
    const auto result = try_render(file);
    ASSERT_FALSE(result.is_ok()) << file;
    const std::string_view slug = result.status().code();
    EXPECT_TRUE(slug == "template.limit" || slug == "template.failed") << file << " " << slug;
  }
  EXPECT_EQ(ChatTemplate::create("{{ " + deep, "").status().code(), "template.syntax");
  EXPECT_EQ(ChatTemplate::create(std::string(3 << 20, 'x'), "").status().code(),
            "template.too_large");
}

TEST(ChatTemplate, LongConversationsAreWellWithinTheLimits) {
  std::string messages = "[";
  for (int i = 0; i < 2000; ++i) {
    messages += R"({"role":"user","content":")" + std::string(500, 'a') + R"("},)";
  }
  messages += R"({"role":"user","content":"end"}])";
  const std::string text = render(
      "{% for m in messages %}<|im_start|>{{ m.role + '\n' + m.content|trim + '<|im_end|>\n' }}"
      "{% endfor %}",
      messages);
  EXPECT_EQ(text.size(), 2000u * (500 + 12 + 5 + 11) + 12 + 5 + 3 + 11);
}

TEST(ChatTemplate, NothingOfTheMachineIsReachable) {
  for (const std::string_view file :
       {"{% include '/etc/passwd' %}", "{{ open('/etc/passwd') }}", "{% extends 'x' %}",
        "{{ ''.__class__.__mro__ }}", "{{ self }}{{ os.environ }}"}) {
    EXPECT_FALSE(try_render(file).is_ok()) << file;
  }
}

}  // namespace
}  // namespace trtmc
