#!/bin/bash
# Installs Bazel 7.7.1 on Debian 12 or newer (x86-64) from pinned Debian packages, beside the machine's own packages.
#
# Debian's `bazel-bootstrap` needs a newer C library and Java than Debian 12 has, so its packages are unpacked into $PREFIX together with their own
# C library and Java runtime, and the programs among them are pointed at that C library. Nothing that is installed on the machine changes, but for the
# wrapper $BIN. Actions that Bazel runs use the machine's compiler, as //bazel/private/repos describes.
#
#   tools/install-bazel.sh            installs, or says within a blink that nothing is to be done
#   tools/install-bazel.sh --quiet    the same, silent when nothing is to be done
#   STRICT_LOCK=1                     a package that has left the archive is an error, not a warning with a newer one
#   PREFIX=/opt/bazel BIN=/usr/local/bin/bazel
set -euo pipefail
VERSION=7.7.1
PREFIX=${PREFIX:-/opt/bazel}
BIN=${BIN:-/usr/local/bin/bazel}
HERE=$(dirname "$(readlink -f "$0")")
REPO=$(dirname "$HERE")
LOCK=$REPO/third_party/bazel.debs.lock
STEP="looking around"

fail() { printf 'install-bazel: %s\n' "$*" >&2; exit 1; }
trap 'fail "failed while $STEP (line $LINENO); nothing was put in place"' ERR

stamp() { cat "$0" "$LOCK" "$HERE"/bazel/*.py | sha256sum | cut -d' ' -f1; }
STAMP=$(stamp)
is_installed() { [ "$(cat "$PREFIX/stamp" 2>/dev/null)" = "$STAMP" ] && [ -x "$BIN" ]; }
if is_installed; then
  [ "${1:-}" = --quiet ] || echo "bazel $VERSION is installed"
  exit 0
fi

STEP="checking the machine"
[ "$(uname -sm)" = "Linux x86_64" ] || fail "this is $(uname -sm); the pinned packages are for Linux x86_64"
for tool in apt-get apt-cache dpkg-deb tar python3 flock; do
  command -v "$tool" >/dev/null || fail "'$tool' is missing; on Debian: apt-get install apt dpkg tar python3 util-linux"
done
mkdir -p "$(dirname "$PREFIX")" "$(dirname "$BIN")" 2>/dev/null || true
for place in "$(dirname "$PREFIX")" "$(dirname "$BIN")"; do
  [ -w "$place" ] || fail "cannot write to $place; run as root, or set PREFIX and BIN to places of your own"
done
free=$(df -Pk "$(dirname "$PREFIX")" | awk 'NR==2 {print $4}')
[ "$free" -ge 800000 ] || fail "$(dirname "$PREFIX") has $((free / 1024)) MB free; 800 MB are needed"

exec 9>"$PREFIX.lock"
flock 9
if is_installed; then exit 0; fi # another process did it meanwhile
W=$(mktemp -d)
trap 'rm -rf "$W" "$PREFIX.new"' EXIT

STEP="fetching the packages of $LOCK"
echo "fetching Bazel $VERSION and its Java runtime (about 145 MB) ..."
newer=(--newer-ok)
[ "${STRICT_LOCK:-0}" = 0 ] || newer=()
python3 "$REPO/third_party/fetch/debs.py" fetch "${newer[@]}" --into "$W" < "$LOCK" || fail "the packages of $LOCK could not be fetched (see above)"

STEP="unpacking"
rm -rf "$PREFIX.new"
mkdir -p "$PREFIX.new"
skip=(--exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/include --exclude=./usr/share/lintian --exclude=./usr/share/locale)
for deb in "$W"/*.deb; do
  dpkg-deb --fsys-tarfile "$deb" | tar -C "$PREFIX.new" -xf - "${skip[@]}" || fail "cannot unpack $(basename "$deb")"
done

STEP="pointing the programs at their C library, writing the class path and the module registry"
PYTHONPATH=$REPO python3 -B -m tools.bazel.assemble "$PREFIX.new" "$PREFIX" || fail "the unpacked packages do not make a Bazel (see above)"

STEP="putting it in place"
rm -rf "$PREFIX"
mv "$PREFIX.new" "$PREFIX"
cat > "$BIN.new" <<WRAPPER
#!/bin/sh
exec $PREFIX/usr/bin/bazel --nosystem_rc --bazelrc=$PREFIX/bazelrc "\$@"
WRAPPER
chmod +x "$BIN.new"
mv "$BIN.new" "$BIN"

STEP="starting it"
found=$("$BIN" --version) || fail "$BIN does not start"
[ "$found" = "bazel $VERSION" ] || fail "the packages hold '$found', not 'bazel $VERSION': the Debian suite has moved on; see third_party/deps.toml"
echo "$STAMP" > "$PREFIX/stamp"
echo "installed $found in $PREFIX ($(du -sm "$PREFIX" | cut -f1) MB), started by $BIN"
