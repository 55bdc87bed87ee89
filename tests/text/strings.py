"""Seeded texts that tell tokenizers apart: scripts, marks, white space, controls, added tokens in odd places.

`texts(specials, count, seed)` always gives the same strings: neither the machine nor Unicode's tables play a part.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

WORDS = (
    "the of and to in is that it for was on are as with they have this from not but what some there when "
    "your can said use each which do their will up about out many then them these so her would make like "
    "him into time has look two more write go see number no way could people my than first"
).split()
SNIPPETS = (
    "def f(x):\n    return {'a': [1, 2.5e-3], \"b\": None}\n",
    '#include <stdio.h>\nint main(void) {\n\tprintf("%d\\n", 42);\n\treturn 0;\n}\n',
    "SELECT * FROM t WHERE a >= 10 AND b LIKE '%x%';",
    "https://example.org/a/b?c=d&e=%20#f",
    "  - item one\n  - item two\n\n    code block\n",
    "\\frac{1}{2} + \\sqrt{x_1^2}",
)
EMOJI = (
    "👨\u200d👩\u200d👧\u200d👦",
    "🏳️\u200d🌈",
    "👍🏽",
    "🇩🇪🇫🇷",
    "1️⃣",
    "❤️",
    "☺",
    "🧑🏿\u200d💻",
    "😀😃",
    "©️",
    "\U0001fae8",
    "\U0001fae9",
)
RIGHT_TO_LEFT = ("שלום עולם", "مرحبا بالعالم", "السَّلامُ", "\u202eabc\u202c", "\u200fא\u200e1", "فارسی\u200cها", "ښه")
CONTRACTIONS = ("'s", "'S", "'t", "'re", "'RE", "'ve", "'m", "'ll", "'LL", "'d", "’s", "'ſ", "n't", "'x", "''s")
ODDITIES = (
    "▁",
    "▁▁",
    "<0x41>",
    "<0x0A>",
    "##ing",
    "Ġ",
    "Ċ",
    "[UNK]",
    "<unk>",
    "...",
    "ﬁ",
    "ǅ",
    "İ",
    "ß",
    "ſ",
    "\u212a",
    "\u212b",
    "\u1100\u1161",
    "d\u0323\u0307",
    "q\u0307\u0323",
    "①",
    "½",
    "㎏",
    "￥",
    "e\u0301",
    "\u0344",
    "\u0c5c",
    "\ua7ce",
    "\ufb1d",
    "\u0958",
    "\u2126",
    "ﷺ",
)
CONTROLS = ("\0", "\x01", "\x7f", "\x1b[0m", "\ufeff", "\ufffd", "\u00ad", "\u200b", "\ufffe", "\x85")
LINE_ENDS = ("\r\n", "\n\n", "\r", "\n", "\r\n\r\n", " \n", "\n ", "\t\n")
SPACES = " \t\n\r\u00a0\u2003\u3000\u2028\u0085\x0b\x0c\u1680\u180e\u202f\u205f\u2029"
# Ranges, not categories: the same strings whatever Unicode version Python has.
LETTERS = (
    (0x21, 0x7E),
    (0xA1, 0x24F),
    (0x370, 0x5F4),
    (0x620, 0x7B1),
    (0x900, 0xDF4),
    (0xE01, 0xEDF),
    (0x1000, 0x10FF),
    (0x1E00, 0x1FFE),
    (0x2000, 0x2BFF),
    (0xA000, 0xABFF),
)
EAST_ASIA = (
    (0x4E00, 0x9FFF),
    (0x3040, 0x30FF),
    (0xAC00, 0xD7A3),
    (0x1100, 0x11FF),
    (0x3000, 0x3003),
    (0x20000, 0x2A6DF),
    (0xFF01, 0xFF5E),
)
DIGITS = (
    (0x30, 0x39),
    (0x660, 0x669),
    (0x966, 0x96F),
    (0xFF10, 0xFF19),
    (0x2150, 0x218B),
    (0x2460, 0x249B),
    (0x1D7CE, 0x1D7FF),
    (0x10D40, 0x10D49),
    (0x1CCF0, 0x1CCF9),
)
HIGH = (
    (0x10000, 0x10FFF),
    (0x16100, 0x1613F),
    (0x1D400, 0x1D7FF),
    (0x1E000, 0x1E95F),
    (0x1F000, 0x1FBFF),
    (0xE0000, 0xE01EF),
    (0xF0000, 0xF0100),
    (0x30000, 0x323AF),
)


class Source:
    """A seeded source of pieces of text."""

    def __init__(self, specials: Sequence[str], seed: int) -> None:
        self.rng = random.Random(seed)
        self.specials = list(specials) or ["<s>"]
        self.kinds: list[Callable[[], str]] = [
            self.words,
            self.snippet,
            self.white_space,
            self.line_ends,
            lambda: self.rng.choice(CONTROLS),
            self.marks,
            lambda: self.rng.choice(EMOJI),
            lambda: self.points(EAST_ASIA, 20),
            lambda: self.rng.choice(RIGHT_TO_LEFT),
            lambda: self.points(((0xE000, 0xF8FF),), 3),
            lambda: self.points(LETTERS, 8),
            lambda: self.points(HIGH, 4),
            lambda: self.rng.choice(self.specials),
            self.broken_special,
            self.special_between,
            self.number,
            lambda: self.rng.choice(WORDS) + self.rng.choice(CONTRACTIONS),
            lambda: self.points(((0x20, 0x7E),), 20),
            lambda: self.rng.choice(ODDITIES),
            lambda: self.rng.choice(WORDS).capitalize() + self.rng.choice(".,!?;:") + " ",
        ]

    def points(self, ranges: Sequence[tuple[int, int]], most: int) -> str:
        """A few code points of some ranges."""
        return "".join(chr(self.rng.randint(*self.rng.choice(ranges))) for _ in range(self.rng.randint(1, most)))

    def words(self) -> str:
        """English words."""
        return " ".join(self.rng.choice(WORDS) for _ in range(self.rng.randint(1, 8)))

    def snippet(self) -> str:
        """A cut of code or markup."""
        text = self.rng.choice(SNIPPETS)
        at = self.rng.randrange(len(text))
        return text[at : at + self.rng.randint(1, 60)]

    def white_space(self) -> str:
        """A run of spaces, mostly the common one."""
        return "".join(
            self.rng.choice(SPACES) if self.rng.random() < 0.4 else " " for _ in range(self.rng.randint(1, 12))
        )

    def line_ends(self) -> str:
        """Repeated line ends."""
        return self.rng.choice(LINE_ENDS) * self.rng.randint(1, 3)

    def marks(self) -> str:
        """Letters with combining marks in any order."""
        return "".join(
            self.rng.choice("aeiouäöñçAE") + self.points(((0x300, 0x36F),), 3) for _ in range(self.rng.randint(1, 5))
        )

    def number(self) -> str:
        """Digits of one or many scripts."""
        return (
            "".join(self.rng.choice("0123456789.,-") for _ in range(self.rng.randint(1, 12)))
            if self.rng.random() < 0.7
            else self.points(DIGITS, 5)
        )

    def broken_special(self) -> str:
        """An added token that lacks its end, or two in a row."""
        text = self.rng.choice(self.specials)
        return text[:-1] if self.rng.random() < 0.5 else text + self.rng.choice(self.specials)

    def special_between(self) -> str:
        """An added token with something on both sides."""
        sides = (" ", "", "  ", "\n", "\t", "x", "▁")
        return self.rng.choice(sides) + self.rng.choice(self.specials) + self.rng.choice(sides)

    def text(self) -> str:
        """One to ten pieces."""
        return "".join(self.rng.choice(self.kinds)() for _ in range(self.rng.choice([1, 1, 2, 2, 3, 4, 6, 10])))


LONG = (
    "a" * 5000,
    " " * 5000,
    "ab " * 3000,
    "\n" * 3000,
    "é" * 2000,
    "漢" * 2000,
    "0" * 3000,
    "x" + " " * 2000 + "y",
    "😀" * 800,
    "." * 4000,
    "\r\n" * 1500,
)


def texts(specials: Sequence[str], count: int, seed: int, long: bool = True) -> list[str]:
    """`count` texts: the corner cases first, the long ones last."""
    source = Source(specials, seed)
    out = ["", " ", "  ", "\n", "a", " a", "a ", "\0", *specials, *(f" {text} " for text in specials)]
    tail = LONG if long else ()
    while len(out) < count - len(tail):
        out.append(source.text())
    return [*out[: count - len(tail)], *tail]
