"""runtime_root: the folder that runs bundles, laid out as it is installed.

    NAME/bin/trtmc            the program
    NAME/lib/trtmc/*.so*      backend and model DSOs with the libraries that they load

The program finds `../lib/trtmc` from where it really lies, so these are copies and no links.
"""

load(":providers.bzl", "FamilyInfo")

RuntimeRootInfo = provider(
    doc = "A runtime root's parts, so that an image can put each into a layer of its own.",
    fields = {
        "backends": "depset of File: backend DSOs and the libraries that they load.",
        "models": "dict of family name -> File: model DSOs.",
        "program": "File: bin/trtmc.",
    },
)

def _copy(ctx, source, place):
    out = ctx.actions.declare_file("{}/{}".format(ctx.label.name, place))
    ctx.actions.run_shell(
        command = 'cp -f -- "$1" "$2"',
        arguments = [source.path, out.path],
        inputs = [source],
        outputs = [out],
        mnemonic = "TrtmcCopy",
        progress_message = "Placing {} into %{{label}}".format(source.basename),
    )
    return out

def _impl(ctx):
    program = _copy(ctx, ctx.executable.program, "bin/" + ctx.executable.program.basename)
    backends = []
    for file in ctx.files.backends:
        backends.append(_copy(ctx, file, "lib/trtmc/" + file.basename))
    models = {}
    for target in ctx.attr.families:
        info = target[FamilyInfo]
        if not info.runtime:
            fail("{}: family {} declares no runtime".format(ctx.label, info.name))
        models[info.name] = _copy(ctx, info.runtime, "lib/trtmc/" + info.runtime.basename)
    files = depset([program] + backends + models.values())
    return [
        DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files)),
        RuntimeRootInfo(backends = depset(backends), models = models, program = program),
    ]

runtime_root = rule(
    implementation = _impl,
    doc = "Lays out program, backends and model DSOs as they are installed.",
    provides = [RuntimeRootInfo],
    attrs = {
        "backends": attr.label_list(allow_files = True, doc = "Backend DSOs and the shared libraries that they load."),
        "families": attr.label_list(providers = [FamilyInfo], doc = "Families whose model DSOs belong in."),
        "program": attr.label(mandatory = True, executable = True, cfg = "target", doc = "The program."),
    },
)
