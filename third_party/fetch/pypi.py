"""Fetches Python packages by name and version, through pip, into a folder; each file is checked against its pinned
SHA-256.

pip's own configuration (index, proxies, certificates, local folders of wheels) is the machine's; only settings that
would change *what* is fetched are
overruled: constraints, and a forced choice between wheels and sources. It knows nothing of Bazel.

    pypi.py wheel  --package numpy==2.4.6 --python 3.11 --file NAME.whl --sha256 HEX --into DIR
    pypi.py sdist  --package tokenizers==0.23.3 --file NAME.tar.gz --sha256 HEX --into DIR
    pypi.py resolve --package numpy==2.4.6 --python 3.11          prints: file sha256
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# glibc of Debian 12 is 2.36.
PLATFORMS = [
    "manylinux_2_36_x86_64",
    "manylinux_2_35_x86_64",
    "manylinux_2_34_x86_64",
    "manylinux_2_31_x86_64",
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_26_x86_64",
    "manylinux_2_24_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
    "manylinux_2_12_x86_64",
    "manylinux2010_x86_64",
    "manylinux_2_5_x86_64",
    "manylinux1_x86_64",
    "linux_x86_64",
]

# pip asks a source package's build backend for its metadata, only to name the file; a backend may be a compiler that
# is not here. This answers instead.
STAND_IN_BACKEND = """
import os
def get_requires_for_build_wheel(config_settings=None):
    return []
def prepare_metadata_for_build_wheel(directory, config_settings=None):
    name = "{name}-{version}.dist-info"
    os.makedirs(os.path.join(directory, name))
    with open(os.path.join(directory, name, "METADATA"), "w") as handle:
        handle.write("Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    return name
"""
BACKENDS = ["maturin.py", "setuptools/__init__.py", "setuptools/build_meta.py"]


class FetchError(Exception):
    """Something that the reader of the message can put right."""


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        while chunk := handle.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def environment() -> dict[str, str]:
    """The environment for pip: the machine's own, less what would change the choice of files."""
    dropped = {
        "PIP_CONSTRAINT",
        "PIP_REQUIRE_HASHES",
        "PIP_NO_BINARY",
        "PIP_ONLY_BINARY",
        "PIP_TARGET",
        "PIP_USER",
        "PIP_REQUIREMENT",
        "PIP_QUIET",
        "PIP_VERBOSE",
    }
    kept = {key: value for key, value in os.environ.items() if key not in dropped and not key.startswith("PYTHON")}
    # A constraints file may also stand in pip's configuration; an empty one on top replaces it.
    return kept | {
        "PIP_CONSTRAINT": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_PROGRESS_BAR": "off",
    }


def interpreter() -> str:
    """The Python whose pip is used: this one, or, in a bare virtual environment as Bazel's programs have, its base."""
    return sys.executable if importlib.util.find_spec("pip") else getattr(sys, "_base_executable", sys.executable)


def pip_download(arguments: list[str], into: Path, extra_path: Path | None = None) -> Path:
    """Runs `pip download` and returns the one file that came."""
    env = environment() | ({"PYTHONPATH": str(extra_path)} if extra_path else {})
    python = interpreter()
    command = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(into), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if "No module named pip" in done.stderr:
        raise FetchError(
            f"{python} has no pip.\n"
            "What to do: install it (Debian: apt-get install python3-pip), or set HOST_PYTHON to a Python that has it."
        )
    files = [path for path in into.iterdir() if path.is_file()]
    if done.returncode != 0 or len(files) != 1:
        raise FetchError(f"`pip download {arguments[-1]}` failed:\n{done.stderr.strip()[-2000:]}")
    return files[0]


def download_wheel(package: str, python: str, into: Path) -> Path:
    """Fetches the wheel that fits a Python version on this platform."""
    tag = "cp" + python.replace(".", "")
    words = [
        "--only-binary",
        ":all:",
        "--implementation",
        "cp",
        "--python-version",
        python,
        "--abi",
        tag,
        "--abi",
        "abi3",
        "--abi",
        "none",
    ]
    words += [word for platform in PLATFORMS for word in ("--platform", platform)]
    return pip_download([*words, package], into)


def download_sdist(package: str, into: Path) -> Path:
    """Fetches a source archive, without building anything."""
    name, version = package.split("==")
    with tempfile.TemporaryDirectory() as shim:
        for backend in BACKENDS:
            path = Path(shim) / backend
            path.parent.mkdir(exist_ok=True)
            path.write_text(STAND_IN_BACKEND.format(name=name, version=version), "utf-8")
        return pip_download(["--no-binary", ":all:", "--no-build-isolation", package], into, Path(shim))


def fetch(kind: str, package: str, python: str, into: Path, file: str, sha256: str) -> None:
    """Fetches one file, checks its hash, and puts it into the folder under its own name."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into) as scratch:
        path = (
            download_wheel(package, python, Path(scratch))
            if kind == "wheel"
            else download_sdist(package, Path(scratch))
        )
        found = sha256_of(path)
        if found != sha256:
            raise FetchError(
                f"{package}: wrong SHA-256\n  file     {path.name}\n  expected {sha256}  ({file}, the lock)\n"
                f"  found    {found}\n"
                "What to do: if the pin in third_party/deps.toml was changed on purpose, run `make lock` and review "
                "the difference; otherwise do not use this index."
            )
        path.rename(into / file)


def main(argv: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="pypi.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=["wheel", "sdist", "resolve", "resolve-sdist"])
    parser.add_argument("--package", required=True)
    parser.add_argument("--python", default="3.11")
    parser.add_argument("--file", default="")
    parser.add_argument("--sha256", default="")
    parser.add_argument("--into", type=Path)
    arguments = parser.parse_args(argv)
    try:
        if arguments.kind.startswith("resolve"):
            with tempfile.TemporaryDirectory() as scratch:
                is_sdist = arguments.kind == "resolve-sdist"
                path = (
                    download_sdist(arguments.package, Path(scratch))
                    if is_sdist
                    else download_wheel(arguments.package, arguments.python, Path(scratch))
                )
                print(path.name, sha256_of(path))
        else:
            fetch(arguments.kind, arguments.package, arguments.python, arguments.into, arguments.file, arguments.sha256)
    except FetchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
