"""Chat templates through ``trtmc chat``: what Transformers' own renderer makes of the same template."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tokenizers import processors

from tests.e2e.kit.product import build, trtmc
from tests.e2e.kit.texts import CHATML, byte_level, chatml, echo_bundle, product_ids, render

USER = {"role": "user", "content": "hi"}
ALTERNATE = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}[{{ m.role }}:{{ m.content }}]{% endfor %}"
)


def test_tpl_1_raise_exception_reaches_the_user(tmp_path: Path) -> None:
    bundle = echo_bundle(tmp_path / "m", byte_level(), ALTERNATE)
    done = trtmc("chat", str(bundle), "--messages", "-", "--json", stdin=json.dumps([USER, USER]))
    assert done.exit_code == 3
    assert "roles must alternate" in done.stderr
    assert "text" not in done.json


def test_tpl_1_the_same_template_renders_alternating_roles(tmp_path: Path) -> None:
    bundle = echo_bundle(tmp_path / "m", byte_level(), ALTERNATE)
    turns = [USER, {"role": "assistant", "content": "yo"}, USER]
    assert render(bundle, turns) == "[user:hi][assistant:yo][user:hi]"


def test_tpl_2_trim_blocks_and_lstrip_blocks(tmp_path: Path) -> None:
    template = "{% for m in messages %}\n  {% if true %}\n    {{ m.content }}\n  {% endif %}\n{% endfor %}\nEND\n"
    assert render(echo_bundle(tmp_path / "m", byte_level(), template), [USER]) == "    hi\nEND"


def test_tpl_3_tojson_with_indent_and_markup(tmp_path: Path) -> None:
    tools = [{"name": "w", "a": [1, {"k": []}], "e": {}}]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    bundle = echo_bundle(tmp_path / "m", byte_level(), "<tool_call>{{ tools[0]|tojson(indent=4) }}</tool_call>")
    expected = f"<tool_call>{json.dumps(tools[0], indent=4, ensure_ascii=False)}</tool_call>"
    assert render(bundle, [USER], "--tools", str(tmp_path / "tools.json")) == expected


def test_tpl_3_mappings_keep_the_order_in_which_they_were_given(tmp_path: Path) -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": {"z": 1, "a": {"y": [1.5, None], "b": "B"}}}}
    turns = [USER, {"role": "assistant", "tool_calls": [call]}]
    bundle = echo_bundle(tmp_path / "m", byte_level(), "{{ messages|tojson }}")
    assert render(bundle, turns) == json.dumps(turns)


def test_tpl_1_with_tools_the_template_named_tool_use_serves(tmp_path: Path) -> None:
    named = [{"name": name, "template": name} for name in ("default", "tool_use", "rag")]
    (tmp_path / "tools.json").write_text("[{}]")
    bundle = echo_bundle(tmp_path / "m", byte_level(), chat_template=named)
    assert render(bundle, [USER]) == "default"
    assert render(bundle, [USER], "--tools", str(tmp_path / "tools.json")) == "tool_use"


def test_bad_input_a_system_message_beside_a_whole_conversation(tmp_path: Path) -> None:
    bundle = echo_bundle(tmp_path / "m", byte_level(), CHATML)
    done = trtmc("chat", str(bundle), "--messages", "-", "--system", "S", "--render", stdin=json.dumps([USER]))
    assert done.exit_code == 2
    assert "--system" in done.stderr


def with_bos(folder: Path, template: str) -> Path:
    """A tokenizer whose post-processor puts BOS in front."""
    tokenizer = chatml()
    bos = tokenizer.token_to_id("<|im_start|>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|im_start|> $A", special_tokens=[("<|im_start|>", bos)]
    )
    return echo_bundle(folder, tokenizer, template, bos_token="<|im_start|>")


def prompt_tokens(bundle: Path) -> int:
    done = trtmc("chat", str(bundle), "--messages", "-", "--json", "-n", "1", stdin=json.dumps([USER]))
    assert done.exit_code == 0, done.stderr
    return int(done.json["prompt_tokens"])


def test_tpl_4_one_bos_not_two(tmp_path: Path) -> None:
    assert prompt_tokens(with_bos(tmp_path / "bos", "{{ bos_token }}{{ messages[0].content }}")) == 3
    assert prompt_tokens(with_bos(tmp_path / "none", "{{ messages[0].content }}")) == 2


def test_tpl_4_a_raw_prompt_gets_what_the_tokenizer_gives(tmp_path: Path) -> None:
    bundle = with_bos(tmp_path / "m", "{{ bos_token }}{{ messages[0].content }}")
    assert product_ids(bundle, "<|im_start|>hi") == [256, 256, *byte_level().encode("hi").ids]


def test_tpl_5_none_undefined_missing(tmp_path: Path) -> None:
    template = "{%- if tools is none %}NONE{% endif %}{{ undefined_thing }}|{{ messages[0].nope }}"
    assert render(echo_bundle(tmp_path / "m", byte_level(), template), [USER]) == "NONE|"


def test_tpl_5_an_attribute_of_undefined_is_an_error(tmp_path: Path) -> None:
    bundle = echo_bundle(tmp_path / "m", byte_level(), "{{ undefined_thing.x }}")
    done = trtmc("chat", str(bundle), "--messages", "-", "--render", stdin=json.dumps([USER]))
    assert done.exit_code == 3
    assert "undefined" in done.stderr


def test_tpl_6_strftime_now_is_local_and_english(tmp_path: Path) -> None:
    template = "{{ strftime_now('%d %b %Y') }}{% if strftime_now is defined %}D{% endif %}"
    bundle = echo_bundle(tmp_path / "m", byte_level(), template)
    zone = "Pacific/Kiritimati"
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    def today() -> str:
        now = datetime.datetime.now(ZoneInfo(zone))
        return f"{now.day:02d} {months[now.month - 1]} {now.year}D"

    before = today()
    found = render(bundle, [USER], environment={"LC_ALL": "de_DE.UTF-8", "TZ": zone})
    assert found in (before, today())


def test_tpl_6_the_day_does_not_reach_the_bundle(tmp_path: Path) -> None:
    echo_bundle(tmp_path / "m", byte_level(), "{{ strftime_now('%d %b %Y') }}")
    ids = {build(tmp_path / "m", tmp_path / f"{i}.bundle").json["id"] for i in range(2)}
    assert len(ids) == 1
    content = (tmp_path / "0.bundle").read_bytes()
    assert b"strftime_now" in content
    assert datetime.date.today().strftime("%d %b %Y").encode() not in content


@pytest.mark.parametrize("content", ["", " lead", "two\nlines", "é 한 😀", "{{ messages }}", "{% raw %}"])
def test_chatml_renders_any_content_as_it_is(tmp_path: Path, content: str) -> None:
    bundle = echo_bundle(tmp_path / "m", chatml(), CHATML)
    found = render(bundle, [{"role": "user", "content": content}])
    assert found == f"<|im_start|>user\n{content}<|im_end|>\n<|im_start|>assistant\n"
