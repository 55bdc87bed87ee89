"""oniguruma_sources: Oniguruma's C files, taken out of a source archive that carries them."""

def _impl(ctx):
    outs = [ctx.actions.declare_file("src/" + name) for name in ctx.attr.files]
    ctx.actions.run(
        executable = ctx.executable._tool,
        arguments = [ctx.file.archive.path, outs[0].dirname] + ctx.attr.files,
        inputs = [ctx.file.archive],
        outputs = outs,
        mnemonic = "OnigurumaSources",
        progress_message = "Extracting Oniguruma %{label}",
    )
    return [DefaultInfo(files = depset(outs))]

oniguruma_sources = rule(
    implementation = _impl,
    doc = "Extracts named files of Oniguruma's source folder.",
    attrs = {
        "archive": attr.label(mandatory = True, allow_single_file = [".tar.gz"], doc = "The source archive of the Python package jq."),
        "files": attr.string_list(mandatory = True, doc = "File names."),
        "_tool": attr.label(default = ":extract", executable = True, cfg = "exec"),
    },
)
