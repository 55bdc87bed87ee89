"""Makes the golden files of the text tests with the oracle: Transformers 5.24.0, Jinja2 3.1.6, tokenizers 0.23.3.

    python3 -m tests.text.make_goldens [--smollm2 TOKENIZER_JSON]      # from the repository root

Without --smollm2 the goldens of the real SmolLM2 tokenizer are left as they are.
"""

from __future__ import annotations

import argparse
import datetime as real_datetime
import json
from pathlib import Path
from typing import Any
from unittest import mock

import jinja2
import tokenizers
import transformers
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

from tests.text import cases, strings

HERE = Path(__file__).resolve().parent
GOLDENS = HERE / "goldens"
WANTED = {"transformers": (transformers, "5.24.0"), "jinja2": (jinja2, "3.1.6"), "tokenizers": (tokenizers, "0.23.3")}
STRING_COUNT = 600
SEED = 11
PLAIN_TOKENS = ("<s>", "</s>", "<pad>")


class FixedDatetime(real_datetime.datetime):
    """now() is always the clock of cases.py."""

    @classmethod
    def now(cls, tz: real_datetime.tzinfo | None = None) -> real_datetime.datetime:
        return real_datetime.datetime.fromtimestamp(cases.CLOCK_SECONDS, real_datetime.UTC).replace(tzinfo=None)


def write(name: str, value: Any) -> None:
    """One row a line, so that differences can be read."""
    rows = ",\n".join(json.dumps(row, ensure_ascii=True) for row in value["rows"])
    head = json.dumps({key: item for key, item in value.items() if key != "rows"})[:-1]
    text = f'{head}, "rows": [\n{rows}\n]}}\n'
    if json.loads(text) != value:
        raise ValueError(f"{name}: the written form does not read back")
    (GOLDENS / name).write_text(text, "utf-8")
    print(f"{name}: {len(value['rows'])} rows, {len(text)} bytes")


def versions() -> dict[str, str]:
    """The oracle's versions; an error unless they are the pinned ones."""
    for name, (module, wanted) in WANTED.items():
        if module.__version__ != wanted:
            raise SystemExit(
                f"{name}: expected {wanted}, found {module.__version__}; make the goldens with the pinned versions"
            )
    return {name: wanted for name, (_, wanted) in WANTED.items()}


def oracle(template: str, tokenizer_file: Path | None = None, **tokens: str) -> PreTrainedTokenizerFast:
    """A Transformers tokenizer with a chat template."""
    if tokenizer_file is None:
        backend = tokenizers.Tokenizer(
            tokenizers.models.WordLevel({token: i for i, token in enumerate(PLAIN_TOKENS)}, "<pad>")
        )
        made = PreTrainedTokenizerFast(tokenizer_object=backend, **tokens)
    else:
        made = PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_file), **tokens)
    made.chat_template = template
    return made


def render(template: str, messages: Any, options: dict[str, Any]) -> tuple[str | None, str | None]:
    """The oracle's text, or its error."""
    options = dict(options)
    variables = options.pop("variables", {})
    continue_field = options.pop("continue_field", False)
    made = oracle(template, **cases.SPECIAL_TOKENS)
    try:
        with mock.patch.object(chat_template_utils, "datetime", FixedDatetime):
            return made.apply_chat_template(
                messages, tokenize=False, continue_final_message=continue_field, **options, **variables
            ), None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def template_rows() -> list[dict[str, Any]]:
    """The template files, rendered."""
    rows = []
    for case in cases.cases():
        template = (HERE / "templates" / f"{case.template}.jinja").read_text("utf-8")
        want, error = render(template, case.messages, case.options)
        rows.append(
            {
                "name": case.name,
                "template": case.template,
                "messages": case.messages,
                "options": case.options,
                "want": want,
                "error": error,
            }
        )
    return rows


def expressions() -> list[str]:
    """The lines of expressions.txt as templates."""
    lines = (HERE / "expressions.txt").read_text("utf-8").split("\n")
    return [
        line if "{%" in line or "{{" in line or "{#" in line else "{{ " + line + " }}"
        for line in lines
        if line and not line.startswith("# ")
    ]


def expression_rows() -> list[dict[str, Any]]:
    """The expressions, rendered."""
    rows = []
    for template in expressions():
        want, error = render(template, cases.EXPRESSION_MESSAGES, {"tools": cases.TOOLS})
        rows.append({"template": template, "want": want, "error": error})
    return rows


def string_rows(path: Path) -> list[list[Any]]:
    """[text, ids, how many of them come from the post-processor, in front, text back, text back with special tokens].

    A text that comes back unchanged is null.
    """
    made = tokenizers.Tokenizer.from_file(str(path))
    made.no_padding()
    made.no_truncation()
    added = [token.content for _, token in sorted(made.get_added_tokens_decoder().items())]
    rows = []
    for text in strings.texts(added, STRING_COUNT, SEED, long=False):
        with_special, without = made.encode(text).ids, made.encode(text, add_special_tokens=False).ids
        front = len(with_special) - len(without)
        if with_special[front:] != without:
            raise ValueError(f"{path.name} adds special tokens elsewhere than in front")
        back = [made.decode(without, skip_special_tokens=skip) for skip in (True, False)]
        rows.append([text, with_special, front, *(None if text == other else other for other in back)])
    return rows


def chat_rows(path: Path, tokens: dict[str, str]) -> list[dict[str, Any]]:
    """Ids of whole conversations, none of them hostile."""
    rows = []
    for case in cases.cases():
        if case.template not in ("chatml", "headers", "think") or "continue_field" in case.options:
            continue
        options = dict(case.options)
        variables = options.pop("variables", {})
        made = oracle((HERE / "templates" / f"{case.template}.jinja").read_text("utf-8"), path, **tokens)
        try:
            with mock.patch.object(chat_template_utils, "datetime", FixedDatetime):
                ids = made.apply_chat_template(case.messages, tokenize=True, return_dict=False, **options, **variables)
        except Exception:
            continue
        rows.append({"name": case.name, "ids": ids})
    return rows


TOKENS = {
    "smollm2": {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"},
    "qwen_style": {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"},
    "llama3_style": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
}


def main() -> None:
    """Writes every golden file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--smollm2", type=Path, help="the tokenizer.json of SmolLM2-135M-Instruct")
    given = parser.parse_args()
    made_with = versions()
    GOLDENS.mkdir(exist_ok=True)
    write("templates.json", {"made_with": made_with, "rows": template_rows()})
    write("expressions.json", {"made_with": made_with, "rows": expression_rows()})
    files = {name: HERE / "tokenizers" / f"{name}.json" for name in ("qwen_style", "llama3_style")}
    if given.smollm2:
        files["smollm2"] = given.smollm2
    for name, path in files.items():
        write(f"strings_{name}.json", {"made_with": made_with, "rows": string_rows(path)})
        write(
            f"chats_{name}.json",
            {"made_with": made_with, "tokens": TOKENS[name], "rows": chat_rows(path, TOKENS[name])},
        )


if __name__ == "__main__":
    main()
