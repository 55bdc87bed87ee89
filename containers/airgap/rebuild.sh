#!/bin/bash
# Rebuilds everything from this kit, without network: checks the kit, installs Bazel from it, builds, compares bundle ids and image digests with those that
# the kit's maker got, and tests. Needs Debian 12 or newer on x86-64 with g++, python3 and its headers; nothing outside WORK is written.
#
#   ./rebuild.sh [WORK]            WORK: an empty or new folder; default ./work beside the kit
#   KIT_SHA256=…                   the manifest's hash as its maker was told: then a rewritten manifest is refused too
#   TARGETS="//families/llama:image"   what to build instead of bundle and images
#   TESTS="//..."                  what to test; "" for nothing
#   BAZEL_OPTIONS="--jobs=1"       further options
set -euo pipefail
fail() { code=$1; shift; echo "rebuild: $*" >&2; exit "$code"; }
KIT=$(dirname "$(readlink -f "$0")")
WORK=$(readlink -m "${1:-$KIT/../work}")
partial=${TARGETS+--partial}
TARGETS=${TARGETS-"//families/llama:bundle //families/llama:image //containers:runtime"}
TESTS=${TESTS-"//..."}
read -ra options <<< "${BAZEL_OPTIONS:-}"

# -I: the kit's own folder is no place to import from before it was checked.
python3 -IB "$KIT/verify.py" "$KIT" "${KIT_SHA256:-}"
wanted=$(python3 -IBc 'import json, sys; print(json.load(open(sys.argv[1]))["python"])' "$KIT/manifest.json")
here=$(python3 -IBc 'import sys; print("%d.%d" % sys.version_info[:2])')
[ "$wanted" = "$here" ] || fail 4 "the kit's wheels are for Python $wanted, python3 is $here; put Python $wanted first in PATH"
[ "$(uname -m)" = x86_64 ] || fail 4 "the kit is for x86_64, this machine is $(uname -m)"
[[ "$WORK/" != "$KIT/"* ]] || fail 2 "$WORK lies in the kit, which stays as it is; name another folder"
[ -z "$(ls -A "$WORK" 2>/dev/null)" ] || fail 2 "$WORK is not empty; name another folder"

tree=$WORK/tree
mkdir -p "$tree" "$WORK/home" "$WORK/downloads"
tar -xf "$KIT/source.tar" -C "$tree"
# Bazel notes in its repository cache when it used a file, and the kit may be read-only: the kit's files are linked, or copied where links cannot be.
cp -al "$KIT/files/content_addressable" "$WORK/downloads/" 2>/dev/null || cp -r "$KIT/files/content_addressable" "$WORK/downloads/"

# A user without an entry in /etc/passwd, as in a container, has no name; Bazel wants one.
export HOME=$WORK/home XDG_CACHE_HOME=$WORK/home/.cache TRTMC_KIT=$KIT/files USER=${USER:-$(id -un 2>/dev/null || echo rebuild)}
cd "$tree" # away from a folder that this user may not be allowed to see
PREFIX=$WORK/bazel BIN=$WORK/bin/bazel STRICT_LOCK=1 "$tree/tools/install-bazel.sh"
bazel() { "$WORK/bin/bazel" --output_user_root="$WORK/out" "$@"; }
trap 'bazel shutdown' EXIT
common=(--repository_cache="$WORK/downloads" --disk_cache="$WORK/cache" "${options[@]}")
read -ra targets <<< "$TARGETS"
bazel build "${common[@]}" --output_groups=+digests -- "${targets[@]}"
bin=$(bazel info "${common[@]}" bazel-bin 2>/dev/null)
python3 -IB "$KIT/compare.py" "$KIT/manifest.json" "$bin" $partial
if [ -n "$TESTS" ]; then
  read -ra tests <<< "$TESTS"
  bazel test "${common[@]}" -- "${tests[@]}"
fi
