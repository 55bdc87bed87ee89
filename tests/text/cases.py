"""Conversations, and which template meets which: the inputs of the chat template goldens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = Any

TOOLS: Json = [
    {
        "type": "function",
        "function": {
            "name": "find_train",
            "description": "Finds a 'fast' or \"slow\" train <b>&amp;</b> — naïve 列車 😀",
            "parameters": {
                "type": "object",
                "properties": {
                    "station": {"type": "string", "description": "e.g. Zürich"},
                    "hours": {"type": "integer", "default": 3, "minimum": 0.5},
                    "direct": {"type": "boolean", "default": True},
                    "note": {"type": ["string", "null"], "default": None},
                    "stops": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
                    "items": {"type": "object", "properties": {}},
                },
                "required": ["station", "stops"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "",
            "parameters": {"type": "object", "properties": {}, "required": []},
        },
    },
]
PLAIN: Json = [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": " Hi there! \n"},
    {"role": "user", "content": "Tell me\na story — ünï 天 😀 {{x}} {% y %} \\n 'q' \"d\""},
]
SYSTEM: Json = [{"role": "system", "content": '  You are "kind".\n'}, *PLAIN]
ARGUMENTS: Json = {
    "station": "Zürich",
    "hours": 2,
    "f": 1.0,
    "g": 1e-7,
    "h": 1e22,
    "b": False,
    "n": None,
    "l": [1, "a", []],
    "e": {},
    "t": "it's",
}
CALLS: Json = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": "When is the next train?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "abcdefghi", "type": "function", "function": {"name": "find_train", "arguments": ARGUMENTS}},
            {"id": "123456789", "type": "function", "function": {"name": "add", "arguments": {}}},
        ],
    },
    {"role": "tool", "name": "find_train", "tool_call_id": "abcdefghi", "content": '{"t": 21.5}'},
    {"role": "tool", "name": "add", "tool_call_id": "123456789", "content": "3"},
    {"role": "assistant", "content": "At half past nine."},
    {"role": "user", "content": "Thanks"},
]
ONE_CALL: Json = [*CALLS[:2], {**CALLS[2], "tool_calls": CALLS[2]["tool_calls"][:1]}, CALLS[3]]
THOUGHTS: Json = [
    {"role": "user", "content": "2+2?"},
    {"role": "assistant", "content": "<think>\nadd\n</think>\n\n4"},
    {"role": "user", "content": "3+3?"},
    {"role": "assistant", "reasoning_content": "\nhmm\n", "content": "6"},
    {"role": "user", "content": "ok"},
    {"role": "assistant", "thinking": "short", "content": "fine"},
]
PARTS: Json = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "Look "}, {"type": "image", "url": "x"}, {"type": "text", "text": "here"}],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "I see"}]},
    {"role": "user", "content": "More"},
]
NULLS: Json = [
    {"role": "user", "content": "Hi", "name": None, "tool_calls": None},
    {"role": "assistant", "content": None, "tool_calls": ONE_CALL[2]["tool_calls"]},
]
DOCUMENTS: Json = [{"title": "Café", "text": "One\ntwo"}, {"title": "B", "text": "Three"}]
SPECIAL_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
# A Friday in July 2024, two in the afternoon, local time.
CLOCK_SECONDS = 1722002400
# What the expressions of expressions.txt see.
EXPRESSION_MESSAGES: Json = [
    {"role": "system", "content": '  Be "kind".\n'},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi\n", "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]},
    {"role": "user", "content": "it's — ünï 天 😀"},
]


@dataclass(frozen=True)
class Case:
    """One rendering."""

    name: str
    template: str
    messages: Json
    options: dict[str, Json] = field(default_factory=dict)


def _both(template: str, messages: Json, **options: Json) -> list[Case]:
    return [
        Case(f"{template}-{'ask' if ask else 'stop'}", template, messages, {"add_generation_prompt": ask, **options})
        for ask in (True, False)
    ]


def cases() -> list[Case]:
    """All renderings of the template files."""
    out = [
        *_both("chatml", SYSTEM),
        *_both("lines", SYSTEM),
        *_both("headers", SYSTEM),
        *_both("think", THOUGHTS),
        *_both("brackets", SYSTEM),
        *_both("turns", PLAIN),
        *_both("macros", SYSTEM, documents=DOCUMENTS),
        *_both("typescript", THOUGHTS),
        *_both("pipes", SYSTEM),
        *_both("generation", PLAIN),
    ]
    ask = {"add_generation_prompt": True}
    more: list[tuple[str, str, Json, dict[str, Json]]] = [
        ("chatml-no-system", "chatml", PLAIN, ask),
        ("headers-tools", "headers", PLAIN, {"tools": TOOLS, **ask}),
        (
            "headers-tools-late",
            "headers",
            SYSTEM,
            {"tools": TOOLS, "variables": {"tools_first": False, "today": "1 Jan 2026"}},
        ),
        ("headers-two-calls-raise", "headers", CALLS, {"tools": TOOLS}),
        ("headers-one-call", "headers", ONE_CALL, {"tools": TOOLS, **ask}),
        ("headers-only-system-raises", "headers", SYSTEM[:1], {"tools": TOOLS}),
        ("headers-nulls-dropped", "headers", NULLS, {"tools": TOOLS}),
        ("think-tools", "think", CALLS, {"tools": TOOLS, **ask}),
        ("think-off", "think", THOUGHTS[:5], {"variables": {"enable_thinking": False}, **ask}),
        ("think-tool-last", "think", CALLS[:5], {"tools": TOOLS, **ask}),
        ("think-nulls-dropped", "think", NULLS, ask),
        ("brackets-tools", "brackets", CALLS, {"tools": TOOLS}),
        ("brackets-roles-raise", "brackets", PLAIN[1:], {}),
        ("brackets-plain-tools", "brackets", PLAIN, {"tools": TOOLS}),
        ("turns-parts", "turns", PARTS, ask),
        ("turns-system", "turns", SYSTEM, ask),
        ("turns-raise", "turns", PLAIN[1:], ask),
        ("turns-bad-content-raises", "turns", [{"role": "user", "content": 5}], ask),
        ("macros-tools", "macros", PLAIN, {"tools": TOOLS}),
        ("typescript-tools", "typescript", CALLS, {"tools": TOOLS, "variables": {"reasoning_effort": "high"}, **ask}),
        ("pipes-role", "pipes", PARTS[2:], ask),
        ("special-token-overridden", "lines", PLAIN, {"variables": {"eos_token": "[end]"}}),
        ("continue-chatml", "chatml", PLAIN[:2], {"continue_field": "content"}),
        ("continue-trimmed", "headers", PLAIN[:2], {"continue_field": "content"}),
        ("continue-parts", "turns", PARTS[:2], {"continue_field": "content"}),
        ("continue-reasoning", "think", THOUGHTS[:4], {"continue_field": "reasoning_content"}),
        ("continue-missing-raises", "chatml", [{"role": "user", "content": None}], {"continue_field": "content"}),
        ("continue-unused-raises", "chatml", PLAIN[:2], {"continue_field": "role_description"}),
        ("continue-and-ask-raises", "chatml", PLAIN[:2], {"continue_field": "content", **ask}),
        ("continue-lost-raises", "pipes", [{"role": "tool", "content": "x"}], {"continue_field": "content"}),
        ("empty-raises", "chatml", [], ask),
    ]
    return out + [Case(*row) for row in more]
