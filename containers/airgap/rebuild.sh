#!/bin/bash
# Rebuilds everything from this kit, without network: checks the kit, installs Bazel from it, builds, tests, and compares bundle ids and image digests with
# those that the kit's maker got. Needs Debian 12 or newer on x86-64 with g++, python3 and its headers; nothing outside WORK is written.
#
#   ./rebuild.sh [WORK]            WORK: an empty or new folder; default ./work beside the kit
#   TARGETS="//families/llama:image"   what to build instead of bundle and images
#   TESTS="//..."                  what to test; "" for nothing
#   BAZEL_OPTIONS="--jobs=1"       further options
set -euo pipefail
KIT=$(dirname "$(readlink -f "$0")")
WORK=$(readlink -f "${1:-$KIT/../work}")
TARGETS=${TARGETS-"//families/llama:bundle //families/llama:image //containers:runtime"}
TESTS=${TESTS-"//..."}
read -ra options <<< "${BAZEL_OPTIONS:-}"

python3 -B "$KIT/verify.py" "$KIT"
wanted=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["python"])' "$KIT/manifest.json")
here=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
[ "$wanted" = "$here" ] || { echo "rebuild: the kit's wheels are for Python $wanted, python3 is $here; put Python $wanted first in PATH" >&2; exit 4; }
[ "$(uname -m)" = x86_64 ] || { echo "rebuild: the kit is for x86_64, this machine is $(uname -m)" >&2; exit 4; }

tree=$WORK/tree
mkdir -p "$tree" "$WORK/home" "$WORK/downloads"
[ -z "$(ls -A "$tree")" ] || { echo "rebuild: $tree is not empty; name another folder" >&2; exit 2; }
tar -xf "$KIT/source.tar" -C "$tree"
# Bazel notes in its repository cache when it used a file, and the kit may be read-only: the kit's files are linked, or copied where links cannot be.
cp -al "$KIT/files/content_addressable" "$WORK/downloads/" 2>/dev/null || cp -r "$KIT/files/content_addressable" "$WORK/downloads/"

export HOME=$WORK/home XDG_CACHE_HOME=$WORK/home/.cache TRTMC_KIT=$KIT/files
PREFIX=$WORK/bazel BIN=$WORK/bin/bazel STRICT_LOCK=1 "$tree/tools/install-bazel.sh"
cd "$tree"
bazel() { "$WORK/bin/bazel" --output_user_root="$WORK/out" "$@"; }
common=(--repository_cache="$WORK/downloads" --disk_cache="$WORK/cache" "${options[@]}")
read -ra targets <<< "$TARGETS"
bazel build "${common[@]}" --output_groups=+digests -- "${targets[@]}"
if [ -n "$TESTS" ]; then
  read -ra tests <<< "$TESTS"
  bazel test "${common[@]}" -- "${tests[@]}"
fi
bin=$(bazel info "${common[@]}" bazel-bin 2>/dev/null)
bazel shutdown

python3 -B - "$KIT/manifest.json" "$bin" <<'PY'
import json, sys
from pathlib import Path

expected = json.loads(Path(sys.argv[1]).read_text())["expected"]
found = {}
for folder in ("containers", "families"):
    for path in sorted(Path(sys.argv[2], folder).rglob("*")):
        if path.name.endswith(".digests.json"):
            record = json.loads(path.read_text())
            found[record["name"]] = record["manifest"]
        elif path.suffix == ".bundle":
            found[f"{path.parent.name}/{path.name}"] = path.read_bytes()[24:56].hex()
wrong = {name: (digest, found.get(name, "not built")) for name, digest in expected.items() if found.get(name) != digest}
for name, (wanted, got) in wrong.items():
    print(f"rebuild: {name} differs\n  expected {wanted} (the kit's maker)\n  found    {got}", file=sys.stderr)
if wrong:
    sys.exit(1)
for name, digest in expected.items():
    print(f"same as the kit's maker: {name} {digest}")
PY
