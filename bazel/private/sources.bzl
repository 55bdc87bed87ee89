"""source_files: an aspect that gathers the source files of this tree that something is compiled from, so that an image can state one digest of them."""

SourcesInfo = provider(
    doc = "What a target is made from.",
    fields = {"files": "depset of File: source files of this workspace."},
)

_ATTRS = [
    "actual",
    "additional_linker_inputs",
    "backends",
    "crate",
    "deps",
    "families",
    "hdrs",
    "implementation_deps",
    "linker_script",
    "program",
    "runtime",
    "srcs",
    "textual_hdrs",
]

def _impl(target, ctx):
    own = []
    below = []
    for name in _ATTRS:
        own += [file for file in getattr(ctx.rule.files, name, []) if file.is_source and not file.owner.workspace_name]
        value = getattr(ctx.rule.attr, name, None)
        values = value if type(value) == "list" else [value]
        below += [dep[SourcesInfo].files for dep in values if type(dep) == "Target" and SourcesInfo in dep]
    if target.label.workspace_name:
        return [SourcesInfo(files = depset())]
    return [SourcesInfo(files = depset(own, transitive = below))]

source_files = aspect(
    implementation = _impl,
    attr_aspects = _ATTRS,
    doc = "Follows what is compiled and linked; tools and third-party files are left out (locks pin those).",
    provides = [SourcesInfo],
)
