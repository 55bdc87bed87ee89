"""rust_staticlib: a Rust crate as a static library, built by cargo offline from pinned sources.

The compiler is Debian 12's rustc (//third_party:rust), the crates are Debian's (//third_party:crates). cargo always works in the same folder of the
sandbox's own /tmp, since absolute paths enter what rustc writes: so the library has the same bytes in every checkout and output base.

```
rust_staticlib(name = "text_rust", crate = "Cargo.toml", srcs = glob(["src/**/*.rs"]), prepare = "//cc/text/rust/build:prepare", archive = "libtrtmc_text.a")
cc_library(name = "text", srcs = [":text_rust"], hdrs = ["text.h"], linkopts = ["-ldl", "-lm"])
```
"""

load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain")

def _resources(_os, _inputs):
    # cargo uses two cores at times, and one for its long crates: another action can run beside it.
    return {"cpu": 1, "memory": 2000}

def _impl(ctx):
    cc = find_cc_toolchain(ctx)
    archive = ctx.actions.declare_file(ctx.attr.archive)
    manifest = ctx.actions.declare_file(ctx.label.name + ".manifest.json")
    registry = [file for file in ctx.files._crates if "/registry/" in file.path][0].path.split("/registry/")[0] + "/registry"
    rust = [file for file in ctx.files._rust if file.path.endswith("/usr/bin/rustc")][0].path.removesuffix("/usr/bin/rustc")
    ctx.actions.write(manifest, json.encode_indent({
        "archive": ctx.attr.archive,
        "cc": cc.compiler_executable,
        "crate": ctx.file.crate.dirname,
        "out": archive.path,
        "package": ctx.attr.package,
        "registry": registry,
        "rust": rust,
        "sdist": ctx.file._tokenizers.path,
    }) + "\n")
    ctx.actions.run(
        executable = ctx.executable.prepare,
        arguments = [manifest.path],
        inputs = depset([manifest, ctx.file.crate, ctx.file._tokenizers] + ctx.files.srcs + ctx.files._crates + ctx.files._rust, transitive = [cc.all_files]),
        outputs = [archive],
        mnemonic = "CargoStaticlib",
        progress_message = "Building Rust crate %{label}",
        resource_set = _resources,
    )
    return [DefaultInfo(files = depset([archive]))]

rust_staticlib = rule(
    implementation = _impl,
    doc = "Builds a Rust crate into a static library.",
    attrs = {
        "archive": attr.string(mandatory = True, doc = "The library's file name, as cargo calls it."),
        "crate": attr.label(mandatory = True, allow_single_file = ["Cargo.toml"], doc = "The crate's Cargo.toml."),
        "package": attr.string(mandatory = True, doc = "The folder that the prepared workspace gives the crate."),
        "prepare": attr.label(
            mandatory = True,
            executable = True,
            cfg = "exec",
            doc = "A program that calls third_party.rust.cargo_build.main with its own function `prepare(out, crate, registry, tokenizers)`, which lays out the cargo workspace.",
        ),
        "srcs": attr.label_list(allow_files = True, doc = "The crate's files."),
        "_crates": attr.label(default = "//third_party:crates", cfg = "exec"),
        "_rust": attr.label(default = "//third_party:rust", cfg = "exec"),
        "_tokenizers": attr.label(default = "//third_party:tokenizers_sdist", allow_single_file = True, cfg = "exec"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
