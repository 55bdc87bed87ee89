"""@host_cc: the machine's C++ compiler as a toolchain (`:cc`), keyed by the compiler's content.

Bazel's own detection does the work. On top of it, a fingerprint of the compiler, assembler, linker and C/C++ runtime files becomes an input of every
compile and link action: two machines whose compilers lie at the same path but differ never share cache entries.
"""

load("@bazel_tools//tools/cpp:lib_cc_configure.bzl", "get_cpu_value")
load("@bazel_tools//tools/cpp:unix_cc_configure.bzl", "configure_unix_toolchain")

_TOOLCHAIN = """
toolchain(
    name = "cc",
    exec_compatible_with = ["@platforms//cpu:x86_64", "@platforms//os:linux"],
    target_compatible_with = ["@platforms//cpu:x86_64", "@platforms//os:linux"],
    toolchain = ":cc-compiler-{cpu}",
    toolchain_type = "@bazel_tools//tools/cpp:toolchain_type",
)
"""

_PROGRAMS = ["cc1plus", "collect2", "as", "ld"]
_FILES = ["libgcc.a", "libgcc_s.so.1", "libstdc++.so", "libstdc++.a", "libc.so.6", "crt1.o", "crtbeginS.o"]
_HEADERS = ["bits/c++config.h", "features.h", "bits/libc-header-start.h", "vector", "immintrin.h"]

def _digests(rctx, compiler):
    """Lines `sha256  file` over everything that decides what the compiler makes."""
    script = """set -eu
cc=$1; shift
{ echo "$cc"; for p in %s; do "$cc" -print-prog-name=$p; done; for f in %s; do "$cc" -print-file-name=$f; done; } |
  while read -r f; do f=$(command -v "$f" || true); [ -n "$f" ] && readlink -f "$f"; done | sort -u | xargs -r sha256sum
for h in %s; do echo "#include <$h>"; done | "$cc" -x c++ -std=c++20 -M - | tr -d '\\\\' | tr -s ' ' '\\n' | grep '^/' | sort -u | xargs sha256sum | sha256sum
"$cc" -dumpfullversion
"$cc" -dumpmachine
"$cc" -Wl,--version 2>/dev/null | head -1
""" % (" ".join(_PROGRAMS), " ".join(_FILES), " ".join(_HEADERS))
    done = rctx.execute(["/bin/sh", "-c", script, "sh", compiler], environment = {"LC_ALL": "C"})
    if done.return_code != 0:
        fail("{} cannot be fingerprinted:\n{}".format(compiler, done.stderr))
    return done.stdout

def _impl(rctx):
    compiler = rctx.os.environ.get("CC", "") or rctx.which("gcc")
    if not compiler:
        fail("no C++ compiler: `gcc` is not in $PATH. What to do: install it (Debian: apt-get install g++), or set CC")
    cpu = get_cpu_value(rctx)
    configure_unix_toolchain(rctx, cpu, {})
    fingerprint = _digests(rctx, str(compiler))
    for line in fingerprint.split("\n"):
        # "sha256  /path": an upgrade of any of these is seen without being told.
        if "  /" in line:
            rctx.watch(line.split("  ", 1)[1])
    rctx.file("extra_tools/fingerprint.txt", fingerprint)
    rctx.file("BUILD", rctx.read("BUILD") + _TOOLCHAIN.format(cpu = cpu))
    rctx.file("WORKSPACE", "")

host_cc = repository_rule(
    implementation = _impl,
    configure = True,
    doc = "Configures the machine's C++ compiler and fingerprints it.",
    environ = ["CC", "CPLUS_INCLUDE_PATH", "PATH"],
)
