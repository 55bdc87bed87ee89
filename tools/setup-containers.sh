#!/bin/bash
# Installs what the tests of tests/images need beyond a build: a container engine, a registry, and programs that read images. Debian's packages by name; no
# service is started and nothing else of the machine changes. Says nothing when all is there, and what is missing (exit 1) when it cannot be had: those tests
# then say "not run here".
set -euo pipefail
declare -A PACKAGE=(
  [dockerd]=docker.io [runc]=runc [containerd]=containerd [skopeo]=skopeo [umoci]=umoci [docker-registry]=docker-registry
  [nginx]=nginx-light [bwrap]=bubblewrap [faketime]=faketime [ip]=iproute2
)
PATH=$PATH:/usr/sbin:/sbin
need=()
for program in "${!PACKAGE[@]}"; do command -v "$program" >/dev/null || need+=("${PACKAGE[$program]}"); done
[ ${#need[@]} -gt 0 ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "setup-containers: not here: ${need[*]} (Debian's packages; install them as root)" >&2
  exit 1
fi
echo "installing: ${need[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A service that a package brings is not started.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' > $policy
  chmod +x $policy
  trap 'rm -f "$log" $policy' EXIT
fi
if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=400 "${need[@]}"; } >"$log" 2>&1; then
  tail -5 "$log" >&2
  echo "setup-containers: could not install ${need[*]} (see above)" >&2
  exit 1
fi
