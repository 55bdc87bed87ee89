"""Lays out the cargo workspace of //cc/text offline: our crate, the adapted third-party crates and a local registry.

    python3 -m cc.text.rust.build.prepare --out DIR --crate cc/text/rust \
        --registry DEBIAN_CRATES --tokenizers SDIST_FOLDER

It knows where the sources come from and which edits they need; it neither fetches nor compiles.
The folder that it writes:

    DIR/trtmc_text     our crate              DIR/tokenizers   Hugging Face's crate, patched, on Debian's crate versions
    DIR/minijinja      patched                DIR/onig_sys     declarations alone; the C++ link step brings libonig
    DIR/esaxx-rs       without its C++        DIR/.cargo       a configuration that only knows the local registry
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from cc.text.rust.build import patching


class PrepareError(Exception):
    """A source that is not what the edits expect."""


# Parts of the tokenizers crate that serve its own tests, training progress bars and downloads.
DROPPED_TABLES = (r"\[\[bench\]\]", r"\[dev-dependencies\]", r"\[profile\.\w+\]")
DROPPED_LINES = ("fancy-regex", "getrandom", "http", "rustls-tls", "unstable_wasm", "indicatif", "progressbar")
# Debian carries other versions of these; only sampling (BPE dropout, Unigram n-best) uses rand.
CARGO_EDITS = (
    ('default = ["progressbar", "onig", "esaxx_fast"]', 'default = ["onig"]'),
    ('rand = "0.9"', 'rand = "0.8"'),
    ('compact_str = { version = "0.9"', 'compact_str = { version = ">=0.9, <0.11"'),
    ('monostate = "0.1.12"', 'monostate = "1.0"'),
)
SOURCE_EDITS = {
    "src/models/unigram/lattice.rs": (
        ("use rand::distr::weighted::WeightedIndex;", "use rand::distributions::WeightedIndex;"),
        ("use rand::{prelude::*, rng};", "use rand::prelude::*;"),
        ("let mut rng = rng();", "let mut rng = rand::thread_rng();"),
    ),
    "src/models/bpe/word.rs": (
        ("use rand::{rng, Rng};", "use rand::{thread_rng, Rng};"),
        ("rng().random::<f32>()", "thread_rng().gen::<f32>()"),
    ),
}
ONIG_SYS_CARGO = """[package]
name = "onig_sys"
version = "69.9.3"
edition = "2021"
links = "onig"
[features]
generate = []
"""
NO_BUILD = "fn main() {}\n"
CARGO_CONFIG = """[source.crates-io]
replace-with = "local"
[source.local]
directory = "REGISTRY"
[net]
offline = true
"""


def replaced(text: str, edits: Sequence[tuple[str, str]], name: str) -> str:
    """The text with each edit made; every old text must be there."""
    for old, new in edits:
        if old not in text:
            raise PrepareError(
                f"{name}: expected to find {old!r}; the source has another version than the edits were made for"
            )
        text = text.replace(old, new)
    return text


def one_folder(registry: Path, name: str) -> Path:
    """The registry's only version of a crate."""
    found = [path for path in registry.iterdir() if re.fullmatch(re.escape(name) + r"-\d[\w.+-]*", path.name)]
    if len(found) != 1:
        raise PrepareError(
            f"{registry}: expected one version of the crate {name}, found {sorted(p.name for p in found)}"
        )
    return found[0]


def copy_crate(source: Path, target: Path) -> None:
    """Copies a crate without the checksum file, which would forbid edits."""
    shutil.copytree(
        source,
        target,
        copy_function=shutil.copyfile,
        ignore=shutil.ignore_patterns(".cargo-checksum.json", "benches", "debian"),
    )


def adapt_tokenizers(root: Path, patches: Path) -> None:
    """Fits the tokenizers crate to Debian's crate versions and applies our patch."""
    manifest = root / "Cargo.toml"
    text = manifest.read_text("utf-8")
    for table in DROPPED_TABLES:
        text = re.sub(table + r"[^\[]*", "", text)
    text = re.sub(r"hf-hub = \{.*?\}\n", "", text, flags=re.S)
    for name in DROPPED_LINES:
        text = re.sub(rf"(?m)^{re.escape(name)} = .*\n", "", text)
    manifest.write_text(replaced(text, CARGO_EDITS, "tokenizers/Cargo.toml"), "utf-8")
    for name, edits in SOURCE_EDITS.items():
        path = root / name
        path.write_text(replaced(path.read_text("utf-8"), edits, name), "utf-8")
    patching.apply(patches / "tokenizers.patch", root)


def prepare(out: Path, crate: Path, registry: Path, tokenizers: Path) -> None:
    """Writes the whole workspace into `out`, which must not exist yet."""
    out.mkdir(parents=True)
    patches = crate / "patches"
    shutil.copytree(crate / "src", out / "trtmc_text" / "src", copy_function=shutil.copyfile)
    shutil.copyfile(crate / "Cargo.toml", out / "trtmc_text" / "Cargo.toml")

    copy_crate(tokenizers / "tokenizers", out / "tokenizers")
    adapt_tokenizers(out / "tokenizers", patches)

    copy_crate(one_folder(registry, "minijinja"), out / "minijinja")
    patching.apply(patches / "minijinja.patch", out / "minijinja")

    copy_crate(one_folder(registry, "esaxx-rs"), out / "esaxx-rs")
    (out / "esaxx-rs" / "build.rs").write_text(NO_BUILD, "utf-8")  # its C++ serves training alone

    sys_crate = one_folder(registry, "onig_sys")
    (out / "onig_sys" / "src").mkdir(parents=True)
    for name in ("lib.rs", "ffi.rs"):
        shutil.copyfile(sys_crate / "src" / name, out / "onig_sys" / "src" / name)
    (out / "onig_sys" / "Cargo.toml").write_text(ONIG_SYS_CARGO, "utf-8")
    (out / "onig_sys" / "build.rs").write_text(NO_BUILD, "utf-8")

    (out / ".cargo").mkdir()
    (out / ".cargo" / "config.toml").write_text(CARGO_CONFIG.replace("REGISTRY", str(registry)), "utf-8")


def main(argv: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="prepare.py", description=(__doc__ or "").splitlines()[0])
    for name in ("out", "crate", "registry", "tokenizers"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    a = parser.parse_args(argv)
    try:
        prepare(a.out.absolute(), a.crate, a.registry.absolute(), a.tokenizers)
    except (PrepareError, patching.PatchError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
