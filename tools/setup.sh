#!/bin/bash
# Installs what this machine lacks for a build: a C++ compiler, Python with headers and pip, git, and Bazel. Says nothing when all is there.
# Everything else comes through the build graph, pinned.
set -euo pipefail
HERE=$(dirname "$(readlink -f "$0")")
# The image to build in has it all, and nothing can be installed there.
[ -z "${TRTMC_TOOLCHAIN_IMAGE:-}" ] || exit 0

need=()
command -v g++ >/dev/null || need+=(g++)
command -v git >/dev/null || need+=(git)
has_python() {
  python3 -I - <<'PY' >/dev/null 2>&1
import importlib.util, os, sys, sysconfig
headers = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(not (os.path.exists(headers) and importlib.util.find_spec("pip")))
PY
}
has_python || need+=(python3 python3-dev python3-pip)
if [ ${#need[@]} -gt 0 ]; then
  echo "installing: ${need[*]}"
  [ "$(id -u)" = 0 ] || { echo "setup: not root; as root: apt-get install ${need[*]}" >&2; exit 1; }
  apt-get update -qq || { echo "setup: 'apt-get update' failed (see above); is the Debian mirror in reach?" >&2; exit 1; }
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null ||
    { echo "setup: 'apt-get install ${need[*]}' failed (see above)" >&2; exit 1; }
  has_python || { echo "setup: $(command -v python3) still lacks headers or pip; put Debian's /usr/bin first in PATH, or set HOST_PYTHON" >&2; exit 1; }
fi
"$HERE/install-bazel.sh" --quiet
