"""The corpus: named files, good and hostile, each with the verdict that every reader must give ("ok" or a slug).

Cases are made from sample.py's good bundle by one change each, so that exactly one rule is broken; where one file
breaks several, the verdict pins the order of the checks. Add a case for every fault that is ever found.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

from tests.bundle_corpus import sample
from tests.bundle_corpus.case import Case
from tests.bundle_corpus.case import edited as _edited
from tests.bundle_corpus.case import put as _put
from tests.bundle_corpus.sample import SECTIONS, Json, assemble, canonical, with_preamble
from tests.bundle_corpus.weight_cases import weight_cases

LAST = len(SECTIONS) - 1


def all_cases() -> list[Case]:
    """Every case; names are unique."""
    return [
        *_good(),
        *_preamble(),
        *_text(),
        *_schema(),
        *_relations(),
        *_names(),
        *_layout(),
        *_content(),
        *weight_cases(),
    ]


def _embed(value: Json) -> None:
    """Takes the external weights out of a header."""
    value["weights"] = None
    value["components"][0]["engines"][0]["weights"] = []


def _good() -> Iterator[Case]:
    yield Case("good", sample.good(), "ok")
    minimal = sample.header()
    minimal |= {"task": "embedding", "text_generation": None}
    minimal["assets"]["tokenizer"] = None
    _embed(minimal)
    one = {"engines/llm.engine": b"x"}
    yield Case("good-one-section-of-one-byte", assemble(canonical(sample.with_sections(minimal, one)), one), "ok")
    full = {**SECTIONS, "a": bytes(4096), "b": b"y" * 4097, "c": b"z" * 8191}
    yield Case(
        "good-lengths-around-a-page", assemble(canonical(sample.with_sections(sample.header(), full)), full), "ok"
    )
    optimized = sample.header() | {"kind": "optimized", "runtime_strategy": None, "components": [], "weights": None}
    tree = {"optimized_runtime.json": b"{}", "artifacts/lib.so": b"\x7fELF", "text/tokenizer.json": b"{}"}
    yield Case("good-optimized", assemble(canonical(sample.with_sections(optimized, tree)), tree), "ok")
    other = sample.header()
    other["provenance"]["checkpoint"]["source"] = 'hub:Größe/模型 \U0001f600"\\/'
    other["components"][0]["engines"][0]["options"] = {
        "text": "\x00\x07\x08\t\n\f\r\x1f\x7f\u2028",
        "small": 1e-7,
        "large": 1.5e300,
    }
    yield Case("good-unusual-text", assemble(canonical(sample.with_sections(other, SECTIONS)), SECTIONS), "ok")
    fat = sample.header()
    _two_targets(reverse=False)(fat)
    yield Case("good-two-targets", assemble(canonical(sample.with_sections(fat, SECTIONS)), SECTIONS), "ok")
    # Checks that look names up in lists would take minutes for a header like this, but as long as 16 MiB allow.
    large = sample.header()
    engine = large["components"][0]["engines"][0]
    for i in range(10_000):
        spec = {"dtype": "int8", "shape": ["batch", 1]}
        engine["contract"]["inputs"].append({"name": f"i{i}", **spec})
        engine["contract"]["outputs"].append({"name": f"o{i}", **spec})
        engine["contract"]["state"].append({"input": f"i{i}", "output": f"o{i}"})
        engine["weights"].append(engine["weights"][0] | {"input": f"w{i}"})
    yield Case("good-large", assemble(canonical(sample.with_sections(large, SECTIONS)), SECTIONS), "ok")
    floats = sample.header()
    numbers = [0.0, -0.0, 1e-4, 9.999e-5, 1e15, 1e16, 123456789012345680.0, 5e-324, 1.7976931348623157e308, 0.1, 2 / 3]
    floats["components"][0]["engines"][0]["options"] = {f"f{i}": number for i, number in enumerate(numbers)} | {
        "i": -(2**63)
    }
    yield Case("good-floats", assemble(canonical(sample.with_sections(floats, SECTIONS)), SECTIONS), "ok")


def _preamble() -> Iterator[Case]:
    good = sample.good()
    length = len(canonical(sample.header()))
    yield Case("empty-file", b"", "truncated")
    yield Case("short-text-file", b"hello", "bad_magic")
    yield Case("zip-file", b"PK\x03\x04" + bytes(200), "bad_magic")
    yield Case("magic-alone", good[:8], "truncated")
    yield Case("half-of-the-magic", good[:4], "truncated")
    for cut in sorted({63, 64, 64 + length // 2, 64 + length, 4096, 8192, len(good) - 4096, len(good) - 1}):
        yield Case(f"cut-to-{cut}", good[:cut], "truncated")
    yield Case("one-byte-more", good + b"\0", "trailing_bytes")
    yield Case("one-page-more", good + bytes(4096), "trailing_bytes")
    yield Case("version-0", with_preamble(good, version=0), "unsupported_version")
    yield Case("version-2", with_preamble(good, version=2), "unsupported_version")
    yield Case("version-big-endian", with_preamble(good, version=1 << 24), "unsupported_version")
    yield Case("version-before-flags", with_preamble(good, version=2, flags=1), "unsupported_version")
    yield Case("flag", with_preamble(good, flags=1), "unknown_flags")
    yield Case("high-flag", with_preamble(good, flags=1 << 31), "unknown_flags")
    yield Case("header-length-16-mib-1", with_preamble(good, header_length=(16 << 20) + 1), "header_too_long")
    yield Case("header-length-max", with_preamble(good, header_length=2**64 - 1), "header_too_long")
    yield Case("header-length-beyond", with_preamble(good, header_length=len(good)), "header_out_of_bounds")
    yield Case("header-length-one-less", with_preamble(good, header_length=length - 1), "header_sha256")
    yield Case("header-length-zero", with_preamble(good, header_length=0), "header_sha256")
    yield Case("header-sha256", with_preamble(good, header_sha256=bytes(32)), "header_sha256")
    yield Case("file-length-zero", with_preamble(good, file_length=0), "trailing_bytes")
    yield Case("file-length-max", with_preamble(good, file_length=2**64 - 1), "truncated")
    flipped = bytearray(good)
    flipped[100] ^= 1
    yield Case("header-byte-flipped", bytes(flipped), "header_sha256")


def _text() -> Iterator[Case]:
    text = canonical(sample.header())

    def case(name: str, changed: bytes, verdict: str) -> Case:
        return Case(f"text-{name}", assemble(changed, SECTIONS), verdict)

    yield case("empty", b"", "header_json")
    yield case("null-bytes", bytes(40), "header_json")
    yield case("cut", text[:-1], "header_json")
    yield case("garbage-behind", text + b"x", "header_json")
    yield case("second-value-behind", text + b"{}", "header_json")
    yield case("bom", b"\xef\xbb\xbf" + text, "header_json")
    yield case("space-behind", text + b" ", "header_not_canonical")
    yield case("newline-behind", text + b"\n", "header_not_canonical")
    yield case("space-inside", text.replace(b",", b", ", 1), "header_not_canonical")
    yield case("escaped-slash", text.replace(b"engines/llm", b"engines\\/llm", 1), "header_not_canonical")
    yield case("escaped-letter", text.replace(b"llama", b"ll\\u0061ma", 1), "header_not_canonical")
    yield case("upper-case-escape", text.replace(b"fp16", b"\\u001F", 1), "header_not_canonical")
    yield case("surrogate-pair", text.replace(b"fp16", b"\\ud83d\\ude00", 1), "header_not_canonical")
    yield case("lone-surrogate", text.replace(b"fp16", b"\\ud83d", 1), "header_json")
    yield case("lone-low-surrogate", text.replace(b"fp16", b"\\ude00", 1), "header_json")
    yield case("surrogate-in-utf-8", text.replace(b"fp16", b"\xed\xa0\xbd", 1), "header_json")
    yield case("latin-1", text.replace(b"fp16", b"\xe9", 1), "header_json")
    yield case("overlong-utf-8", text.replace(b"fp16", b"\xc0\xaf", 1), "header_json")
    yield case("beyond-unicode", text.replace(b"fp16", b"\xf4\x90\x80\x80", 1), "header_json")
    yield case("raw-control-character", text.replace(b"fp16", b"\x01", 1), "header_json")
    yield case("bad-escape", text.replace(b"fp16", b"\\x41", 1), "header_json")
    yield case("single-quotes", text.replace(b'"fp16"', b"'fp16'", 1), "header_json")
    yield case("comment", text.replace(b"{", b"{/**/", 1), "header_json")
    yield case("trailing-comma", text[:-1] + b",}", "header_json")
    yield case("unquoted-key", text.replace(b'"assets"', b"assets", 1), "header_json")
    for name, number, verdict in (
        ("nan", b"NaN", "header_json"),
        ("infinity", b"-Infinity", "header_json"),
        ("overflow", b"1e999", "header_json"),
        ("underflow", b"1e-999", "header_not_canonical"),
        ("leading-zero", b"00.5", "header_json"),
        ("plus", b"+0.5", "header_json"),
        ("bare-point", b".5", "header_json"),
        ("point-behind", b"5.", "header_json"),
        ("hexadecimal", b"0x5", "header_json"),
        ("long-fraction", b"0.50", "header_not_canonical"),
        ("exponent", b"5e-1", "header_not_canonical"),
        ("upper-case-exponent", b"5E-10", "header_not_canonical"),
        ("short-exponent", b"5e-9", "header_not_canonical"),
        ("too-many-digits", b"0.5000000000000000000001", "header_not_canonical"),
        ("minus-zero-integer", b"-0", "header_not_canonical"),
        ("int64-plus-one", b"9223372036854775808", "header_json"),
        ("int64-minus-one", b"-9223372036854775809", "header_json"),
        ("uint64-plus-one", b"18446744073709551616", "header_json"),
        ("enormous-integer", b"9" * 5000, "header_json"),
    ):
        yield case(f"number-{name}", text.replace(b'"scale":0.5', b'"scale":' + number, 1), verdict)
    twice = text.replace(b'"family":"llama"', b'"family":"llama","family":"llama"', 1)
    yield case("key-twice", twice, "duplicate_key")
    yield case("key-twice-other-value", text.replace(b'"os":"linux"', b'"os":"linux","os":"beos"', 1), "duplicate_key")
    yield case("key-twice-by-escape", text.replace(b'"os":"linux"', b'"os":"linux","\\u006fs":"x"', 1), "duplicate_key")
    yield case("key-twice-and-syntax", twice[:-1], "header_json")
    yield case("depth-32", b"[" * 32 + b"]" * 32, "wrong_type")
    yield case("depth-33", b"[" * 33 + b"]" * 33, "header_depth")
    yield case("depth-objects", b'{"a":' * 40 + b"1" + b"}" * 40, "header_depth")
    yield case("depth-never-closed", b"[" * 100000, "header_depth")
    yield case("brackets-in-a-string", text.replace(b"fp16", b"[" * 50 + b'\\"' + b"{" * 50, 1), "ok")
    yield case("string-that-ends-in-a-backslash", b'{"a":"[[[' + b"[" * 40 + b"\\", "header_json")
    for name, top in (("array", b"[]"), ("null", b"null"), ("string", b'"x"'), ("number", b"1"), ("true", b"true")):
        yield case(f"top-level-{name}", top, "wrong_type")
    yield case("top-level-empty-object", b"{}", "missing_key")


def _paths(value: Json, *path: str | int) -> Iterator[tuple[str | int, ...]]:
    """Every place in the header, the top level excluded."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from _paths(item, *path, key)


#: Places whose keys are free: members may be missing or of any of several types.
_ENGINE = ("components", 0, "engines", 0)
_CONTRACT = (*_ENGINE, "contract")
_FREE = ((*_ENGINE, "options"), (*_CONTRACT, "profiles", 0, "dims"))


def _schema() -> Iterator[Case]:
    """Each object gets a key too many; each required key goes missing; each value becomes an object or null."""
    value = sample.header()
    yield Case("extra-key-top", _edited(_put("zzz", to=1)), "unknown_key")
    yield Case("extra-key-before-missing-key", _edited(lambda v: (v.pop("kind"), v.update(zzz=1))), "unknown_key")
    for path in _paths(value):
        name = ".".join(map(str, path))
        found = value
        for key in path:
            found = found[key]
        free = path in _FREE or path[:-1] in _FREE
        if isinstance(found, dict) and not free:
            yield Case(f"extra-key-in-{name}", _edited(_put(*path, "zzz", to=1)), "unknown_key")
        if isinstance(path[-1], str) and not free:
            yield Case(f"missing-{name}", _edited(lambda v, p=path: _pop(v, p)), "missing_key")
        if not isinstance(found, dict):
            yield Case(f"object-for-{name}", _edited(_put(*path, to={})), _object_verdict(path))
    yield from _values()


def _object_verdict(path: tuple[str | int, ...]) -> str:
    """An empty object lacks keys where a record or null is expected, and has the wrong type elsewhere."""
    last_two = path[-2:]
    in_list = len(last_two) == 2 and isinstance(last_two[1], int)
    if path == ("weights",) or (in_list and last_two[0] in _LISTS_OF_RECORDS):
        return "missing_key"
    return "wrong_type"


_LISTS_OF_RECORDS = (
    "targets", "components", "engines", "weights", "tensors", "sections", "inputs", "outputs", "state", "profiles",
    "files",
)  # fmt: skip


def _pop(value: Json, path: tuple[str | int, ...]) -> None:
    for key in path[:-1]:
        value = value[key]
    del value[path[-1]]


def _values() -> Iterator[Case]:
    contract = _CONTRACT
    tensor = (*contract, "inputs", 0)
    text = ("text_generation",)
    sampling = (*text, "sampling")
    bad: list[tuple[tuple[str | int, ...], list[Json], str]] = [
        (("kind",), ["Native", ""], "bad_value"),
        (("kind",), [None, 1], "wrong_type"),
        (("family",), ["", "Llama", "1a", "a-b", "ä", "a" * 65, "a\n"], "bad_value"),
        (("runtime_strategy",), ["", "a b"], "bad_value"),
        (("targets", 0, "compiler_version"), ["", "a\nb", "a\x7fb", "a\u0085b", "x" * 256, "ä" * 128], "bad_value"),
        (("targets", 0, "cuda_version"), [""], "bad_value"),
        (("targets", 0, "cuda_version"), [13.0, 13, False], "wrong_type"),
        (("targets",), [[]], "bad_value"),
        (("targets",), [None, {}], "wrong_type"),
        (("components",), [None, {}], "wrong_type"),
        (("components", 0, "engines"), [[]], "bad_value"),
        ((*_ENGINE, "target"), ["", "SM_89"], "bad_value"),
        ((*tensor, "dtype"), ["float64", "Float32", ""], "bad_value"),
        ((*tensor, "shape"), [[1] * 9, [0], [-1], [2**40 + 1], ["Batch"], [""]], "bad_value"),
        ((*tensor, "shape"), [[1.0], [None], [True], [[]], "batch"], "wrong_type"),
        ((*contract, "inputs"), [[]], "bad_value"),
        ((*contract, "outputs"), [[]], "bad_value"),
        ((*contract, "profiles", 0, "dims", "batch"), [[1, 1], [1, 1, 1, 1], [], [0, 1, 1]], "bad_value"),
        ((*contract, "profiles", 0, "dims"), [{"Batch": [1, 1, 1]}, {"": [1, 1, 1]}], "bad_value"),
        ((*contract, "limits", "max_batch"), [0, -1], "bad_value"),
        ((*contract, "limits", "max_sequence"), [-1], "bad_value"),
        ((*text, "vocab_size"), [0, 2**31], "bad_value"),
        ((*text, "vocab_size"), [512.0, "512", True], "wrong_type"),
        ((*text, "eos_token_ids"), [[-1], [2**31]], "bad_value"),
        ((*sampling, "temperature"), [-0.1, 1000000.1], "bad_value"),
        ((*sampling, "temperature"), [1, "1"], "wrong_type"),
        ((*sampling, "top_k"), [-1, 2**31], "bad_value"),
        ((*sampling, "top_p"), [0.0, -0.0, 1.1], "bad_value"),
        ((*sampling, "min_p"), [-0.1, 1.1], "bad_value"),
        ((*sampling, "repetition_penalty"), [0.0, -1.0], "bad_value"),
        ((*sampling, "do_sample"), [1, "true"], "wrong_type"),
        (("sections",), [[]], "bad_value"),
        (("sections", 0, "length"), [0, -1], "bad_value"),
        (("sections", 0, "offset"), [-4096], "bad_value"),
        (("sections", 0, "sha256"), ["", "0" * 63, "0" * 65, "G" * 64, "A" * 64], "bad_value"),
        (
            ("sections", 0, "media_type"),
            ["", "text", "a/", "/b", "a/b/c", "A/b", "a/b c", "a/" + "b" * 64],
            "bad_value",
        ),
        (("provenance", "checkpoint", "version"), [0, 2], "bad_value"),
        (("provenance", "checkpoint", "source"), ["", "a\tb", "x" * 1025], "bad_value"),
        (("provenance", "checkpoint", "files", 0, "size"), [-1], "bad_value"),
        ((*_ENGINE, "options"), [{"A": 1}, {"": 1}, {"a b": 1}], "bad_value"),
        ((*_ENGINE, "options"), [{"a": []}, {"a": {}}, [], None], "wrong_type"),
    ]
    for path, values, verdict in bad:
        for i, value in enumerate(values):
            yield Case(f"{verdict}-{'.'.join(map(str, path))}-{i}", _edited(_put(*path, to=value)), verdict)


def _relations() -> Iterator[Case]:
    contract = _CONTRACT

    def case(name: str, change: Callable[[Json], object], verdict: str = "inconsistent") -> Case:
        return Case(f"relation-{name}", _edited(change), verdict)

    def twice(*path: str | int) -> Callable[[Json], None]:
        def change(value: Json) -> None:
            for key in path:
                value = value[key]
            value.append(copy.deepcopy(value[0]))

        return change

    yield case("native-without-strategy", _put("runtime_strategy", to=None))
    yield case("native-without-components", _put("components", to=[]))
    yield case("optimized-with-strategy", _put("kind", to="optimized"))
    yield case("task-without-facts", _put("text_generation", to=None))
    yield case("facts-without-task", _put("task", to="embedding"))
    yield case("target-twice", twice("targets"))
    yield case("component-twice", twice("components"))
    yield case("engine-twice", twice("components", 0, "engines"))
    yield case("engine-for-an-unknown-target", _put(*_ENGINE, "target", to="sm_89"))
    yield case("target-without-engine", lambda v: v["targets"].append(v["targets"][0] | {"name": "sm_89"}))
    yield case("engines-in-another-order", _two_targets(reverse=True))
    yield case("input-twice", twice(*contract, "inputs"))
    yield case("output-twice", twice(*contract, "outputs"))
    yield case("state-twice", twice(*contract, "state"))
    yield case("profile-twice", twice(*contract, "profiles"))
    yield case("state-unknown-input", _put(*contract, "state", 0, "input", to="k"))
    yield case("state-unknown-output", _put(*contract, "state", 0, "output", to="k"))
    yield case("range-falls", _put(*contract, "profiles", 0, "dims", "batch", to=[2, 1, 3]))
    yield case("range-opt-above-max", _put(*contract, "profiles", 0, "dims", "batch", to=[1, 4, 3]))
    yield case(
        "dimension-without-range",
        lambda v: v["components"][0]["engines"][0]["contract"]["profiles"][0]["dims"].pop("batch"),
    )
    yield case("dimension-without-profile", _put(*contract, "profiles", to=[]))
    yield case("bos-beyond-vocabulary", _put("text_generation", "bos_token_id", to=512))
    yield case("pad-beyond-vocabulary", _put("text_generation", "pad_token_id", to=512))
    yield case("eos-beyond-vocabulary", _put("text_generation", "eos_token_ids", to=[2, 600]))
    yield case("eos-twice", _put("text_generation", "eos_token_ids", to=[2, 2]))
    yield case("files-unsorted", lambda v: v["provenance"]["checkpoint"]["files"].reverse())
    yield case("file-twice", twice("provenance", "checkpoint", "files"))
    yield case("engine-not-there", _put(*_ENGINE, "section", to="engines/x.engine"), "missing_section")
    yield case("asset-not-there", _put("assets", "chat_template", to="text/chat.jinja"), "missing_section")
    tree = sample.header() | {"kind": "optimized", "runtime_strategy": None, "components": [], "weights": None}
    yield Case("relation-optimized-without-manifest", assemble(canonical(tree), SECTIONS), "missing_section")


def _two_targets(*, reverse: bool) -> Callable[[Json], None]:
    """A second target with the same engine, its engines in the order of the targets or against it."""

    def change(value: Json) -> None:
        engines = value["components"][0]["engines"]
        value["targets"].append(value["targets"][0] | {"name": "sm_89"})
        engines.append(copy.deepcopy(engines[0]) | {"target": "sm_89"})
        if reverse:
            engines.reverse()

    return change


def _names() -> Iterator[Case]:
    bad = [
        "/etc/passwd",
        "../x",
        "a/../b",
        "a//b",
        "a/",
        "./a",
        "a/./b",
        ".hidden",
        "a/.b",
        "a\\b",
        "a b",
        "C:x",
        "ä",
        "~/a",
    ]
    for i, name in enumerate([*bad, "a" * 256]):
        verdict = "section_name" if len(name) < 256 else "bad_value"
        yield Case(f"section-name-{i}", _edited(_put("sections", LAST, "name", to=name)), verdict)
    same = _edited(_put("sections", LAST, "name", to="engines/llm.engine"))
    yield Case("section-named-twice", same, "duplicate_section")
    for i, name in enumerate(("engines", "engines/llm.engine/x")):
        yield Case(f"section-is-a-folder-{i}", _edited(_put("sections", LAST, "name", to=name)), "section_name")
    fine = {**SECTIONS, "-_9.A..b/x.tar.gz": b"3", "e" * 255: b"4"}
    yield Case("section-names-allowed", assemble(canonical(sample.with_sections(sample.header(), fine)), fine), "ok")


def _layout() -> Iterator[Case]:
    first, middle, _ = (section["offset"] for section in sample.header()["sections"])

    def case(name: str, index: int, key: str, to: int, verdict: str) -> Case:
        return Case(f"layout-{name}", _edited(_put("sections", index, key, to=to)), verdict)

    yield case("misaligned", 0, "offset", first + 8, "section_misaligned")
    yield case("on-the-header", 0, "offset", 0, "section_overlap")
    yield case("on-the-section-before", LAST, "offset", middle, "section_overlap")
    yield case("gap", LAST, "offset", middle + 8192, "section_gap")
    yield case("gap-beyond-the-end", LAST, "offset", 2**62, "section_gap")
    yield case("offset-max", LAST, "offset", 2**63 - 1, "section_misaligned")
    yield case("longer-than-the-file", LAST, "length", 4097, "section_out_of_bounds")
    yield case("length-max", LAST, "length", 2**63 - 1, "section_out_of_bounds")
    yield case("first-over-second", 0, "length", 4097, "section_overlap")
    swapped = _edited(lambda v: v["sections"].reverse())
    yield Case("layout-not-in-file-order", swapped, "section_gap")
    good = sample.good()
    longer = good + bytes(4096)
    yield Case("layout-page-behind-the-last", with_preamble(longer, file_length=len(longer)), "section_gap")
    odd = good + b"\0"
    yield Case("layout-length-not-a-multiple", with_preamble(odd, file_length=len(odd)), "section_gap")
    cut = good[:-4096]
    yield Case("layout-last-page-missing", with_preamble(cut, file_length=len(cut)), "section_out_of_bounds")
    short = good[: -4096 + 2]
    yield Case("layout-padding-missing", with_preamble(short, file_length=len(short)), "section_gap")


def _content() -> Iterator[Case]:
    good = sample.good()
    records = sample.header()["sections"]
    header_end = 64 + len(canonical(sample.header()))

    def flip(offset: int) -> bytes:
        data = bytearray(good)
        data[offset] ^= 0x80
        return bytes(data)

    yield Case("content-first-section", flip(records[0]["offset"]), "section_sha256")
    yield Case("content-last-section", flip(records[LAST]["offset"] + records[LAST]["length"] - 1), "section_sha256")
    yield Case("padding-after-header-first", flip(header_end), "nonzero_padding")
    yield Case("padding-after-header-last", flip(records[0]["offset"] - 1), "nonzero_padding")
    yield Case("padding-between", flip(records[0]["offset"] + records[0]["length"]), "nonzero_padding")
    yield Case("padding-last-byte", flip(len(good) - 1), "nonzero_padding")
    other = _edited(_put("sections", 0, "sha256", to="0" * 64))
    yield Case("content-hash-in-the-list", other, "section_sha256")
