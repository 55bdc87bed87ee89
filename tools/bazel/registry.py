"""Writes a Bazel module registry for the rule sets that come with an installed Bazel, so that MODULE.bazel resolves
without any network.

Bazel's own built-in module names a dozen others. Those that the Debian packages carry point to the installed rule
sets; the rest (never built here) are
empty stand-ins.

    registry.py REGISTRY_FOLDER /opt/bazel/usr/share/bazel
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Module:
    """One module of the registry. `path` is its folder in the install, None for a stand-in."""

    name: str
    version: str
    path: str | None = None
    deps: dict[str, str] = field(default_factory=dict)
    extra: str = ""


PLATFORMS = {"platforms": "0.0.10"}
SKYLIB = {"bazel_skylib": "1.9.1"}
LICENSE = {"rules_license": "0.0.7"}
FEATURES = {"bazel_features": "1.11.0"}

MODULES = [
    Module(
        "platforms",
        "0.0.10",
        "tools/platforms",
        LICENSE,
        """\
host_platform = use_extension("//host:extension.bzl", "host_platform")
use_repo(host_platform, "host_platform")
""",
    ),
    Module("rules_license", "0.0.7", "rules/license"),
    Module(
        "bazel_skylib",
        "1.9.1",
        "tools/skylib",
        PLATFORMS | LICENSE,
        """\
register_toolchains("//toolchains/unittest:cmd_toolchain", "//toolchains/unittest:bash_toolchain")
""",
    ),
    Module(
        "bazel_features",
        "1.11.0",
        "tools/features",
        SKYLIB,
        """\
version = use_extension("//private:extensions.bzl", "version_extension")
use_repo(version, "bazel_features_globals", "bazel_features_version")
""",
    ),
    Module(
        "rules_cc",
        "0.0.11",
        "rules/cc",
        SKYLIB | PLATFORMS,
        """\
cc_configure = use_extension("//cc:extensions.bzl", "cc_configure_extension")
use_repo(cc_configure, "local_config_cc", "local_config_cc_toolchains")
register_toolchains("@local_config_cc_toolchains//:all")
""",
    ),
    Module("rules_proto", "6.0.0", "rules/proto", LICENSE | SKYLIB | FEATURES),
    Module("rules_python", "0.22.1", "rules/python", PLATFORMS | SKYLIB),
    Module(
        "rules_shell",
        "0.4.0",
        "rules/shell",
        FEATURES | SKYLIB | PLATFORMS,
        """\
sh_configure = use_extension("//shell/private/extensions:sh_configure.bzl", "sh_configure")
use_repo(sh_configure, "local_config_shell")
register_toolchains("@local_config_shell//:all")
""",
    ),
    Module(
        "rules_java",
        "7.6.5",
        "rules/java",
        PLATFORMS | {"rules_cc": "0.0.11"} | FEATURES | SKYLIB | {"rules_proto": "6.0.0"} | LICENSE,
        """\
toolchains = use_extension("//java:extensions.bzl", "toolchains")
use_repo(
    toolchains,
    "local_jdk",
    "remote_java_tools",
    "remote_java_tools_darwin_arm64",
    "remote_java_tools_darwin_x86_64",
    "remote_java_tools_linux",
    "remote_java_tools_windows",
)
""",
    ),
    Module(
        "buildozer",
        "7.1.2",
        None,
        {},
        """\
buildozer_binary = use_extension("//:buildozer_binary.bzl", "buildozer_binary")
use_repo(buildozer_binary, "buildozer_binary")
""",
    ),
    Module("protobuf", "3.19.6"),
    Module("zlib", "1.3.1.bcr.3"),
    Module("apple_support", "1.23.1"),
]

# Older versions that Bazel's built-in module asks for; resolution picks the newer ones above.
SUPERSEDED = [("rules_license", "0.0.3"), ("rules_proto", "4.0.0"), ("platforms", "0.0.9"), ("platforms", "0.0.7")]

STAND_IN_FILES = {
    "zlib": {"BUILD.bazel": 'cc_library(name = "zlib", linkopts = ["-lz"], visibility = ["//visibility:public"])\n'},
    "buildozer": {
        "BUILD.bazel": "",
        "buildozer_binary.bzl": '''\
"""Stands in for the download of buildozer, which nothing here needs."""

def _repo_impl(rctx):
    rctx.file("BUILD.bazel", 'exports_files(["buildozer.exe"])')
    rctx.file("buildozer.exe", "#!/bin/sh\\necho there is no buildozer here >&2\\nexit 1\\n", executable = True)

_repo = repository_rule(implementation = _repo_impl)

def _impl(_mctx):
    _repo(name = "buildozer_binary")

buildozer_binary = module_extension(implementation = _impl)
''',
    },
}


def write(path: Path, text: str) -> None:
    """Writes a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def module_text(module: Module) -> str:
    """The module's MODULE.bazel."""
    level = 1 if module.path else 0
    lines = [f'module(name = "{module.name}", version = "{module.version}", compatibility_level = {level})\n']
    lines += [f'bazel_dep(name = "{name}", version = "{version}")\n' for name, version in module.deps.items()]
    return "".join(lines) + module.extra


def main(registry: str, share: str) -> int:
    """Writes the whole registry."""
    root = Path(registry)
    write(root / "bazel_registry.json", '{"module_base_path": "stand_ins"}\n')
    for module in MODULES:
        text = module_text(module)
        folder = root / "modules" / module.name / module.version
        write(folder / "MODULE.bazel", text)
        source = {"type": "local_path", "path": f"{share}/{module.path}" if module.path else module.name}
        write(folder / "source.json", json.dumps(source) + "\n")
        if module.path is None:
            for name, content in {
                "BUILD.bazel": "",
                **STAND_IN_FILES.get(module.name, {}),
                "MODULE.bazel": text,
            }.items():
                write(root / "stand_ins" / module.name / name, content)
    for name, version in SUPERSEDED:
        write(
            root / "modules" / name / version / "MODULE.bazel",
            f'module(name = "{name}", version = "{version}", compatibility_level = 1)\n',
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
