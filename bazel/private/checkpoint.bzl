"""checkpoint and generated_checkpoint: how a model enters the build graph. Both end in one folder with a checkpoint.json that records every file."""

load(":providers.bzl", "CheckpointInfo")

def _record(ctx, tool, manifest, inputs, what):
    """Runs one of the two tools on a manifest and returns the providers."""
    out = ctx.actions.declare_directory(ctx.label.name)
    file = ctx.actions.declare_file(ctx.label.name + ".manifest.json")
    ctx.actions.write(file, json.encode_indent(manifest) + "\n")
    args = ctx.actions.args()
    args.add(file)
    args.add_all([out], expand_directories = False)
    ctx.actions.run(
        executable = tool,
        arguments = [args],
        inputs = depset([file], transitive = inputs),
        outputs = [out],
        mnemonic = "TrtmcCheckpoint",
        progress_message = "%s checkpoint %%{label}" % what,
    )
    return [
        DefaultInfo(files = depset([out]), runfiles = ctx.runfiles([out])),
        CheckpointInfo(directory = out, revision = ctx.attr.revision, source = ctx.attr.source),
    ]

def _checkpoint_impl(ctx):
    if bool(ctx.files.files) == bool(ctx.file.gguf):
        fail("{}: give either `files` or `gguf`".format(ctx.label))
    names = {}
    for file in ctx.files.files:
        if file.basename in names:
            fail("{}: two files are called {}: {} and {}".format(ctx.label, file.basename, names[file.basename], file.path))
        names[file.basename] = file.path
    manifest = {
        "dtype": ctx.attr.dtype,
        "files": names,
        "gguf": ctx.file.gguf.path if ctx.file.gguf else None,
        "revision": ctx.attr.revision,
        "source": ctx.attr.source,
    }
    inputs = [depset(ctx.files.files + ([ctx.file.gguf] if ctx.file.gguf else []))]
    return _record(ctx, ctx.attr._tool.files_to_run, manifest, inputs, "Converting" if ctx.file.gguf else "Reading")

checkpoint = rule(
    implementation = _checkpoint_impl,
    doc = """A checkpoint from files: those of a Hugging Face folder, or one GGUF file that is converted to that layout.

```
checkpoint(name = "checkpoint", files = ["@mine//:files"], source = "hub:org/model", revision = "8c3f…")
```""",
    provides = [CheckpointInfo],
    attrs = {
        "dtype": attr.string(default = "float16", values = ["float16", "float32"], doc = "Type that a GGUF's quantized weights become."),
        "files": attr.label_list(allow_files = True, doc = "config.json, safetensors and tokenizer files; their base names count, folders do not."),
        "gguf": attr.label(allow_single_file = [".gguf"], doc = "A GGUF file, instead of `files`."),
        "revision": attr.string(mandatory = True, doc = "Exact revision or hash of the source; goes into every bundle."),
        "source": attr.string(mandatory = True, doc = "Where the files came from, such as 'wheel:name==1.0'; goes into every bundle."),
        "_tool": attr.label(default = "//bazel/private/tools:admit_checkpoint", executable = True, cfg = "exec"),
    },
)

def _generated_impl(ctx):
    text = ctx.attr.text_from[CheckpointInfo].directory if ctx.attr.text_from else None
    manifest = {
        "config": json.decode(ctx.attr.config),
        "dtype": ctx.attr.dtype,
        "revision": ctx.attr.revision,
        "seed": ctx.attr.seed,
        "source": ctx.attr.source,
        "text_from": text.path if text else None,
    }
    return _record(ctx, ctx.attr._tool.files_to_run, manifest, [depset([text] if text else [])], "Generating")

_generated_checkpoint = rule(
    implementation = _generated_impl,
    doc = "A tiny checkpoint with seeded random weights.",
    provides = [CheckpointInfo],
    attrs = {
        "config": attr.string(mandatory = True, doc = "The config.json."),
        "dtype": attr.string(default = "float32", values = ["float32", "float16", "bfloat16"], doc = "Type of the weights."),
        "revision": attr.string(mandatory = True, doc = "Names seed and type."),
        "seed": attr.int(mandatory = True, doc = "Every weight follows from it and the tensor's name."),
        "source": attr.string(mandatory = True, doc = "Always 'generated'."),
        "text_from": attr.label(providers = [CheckpointInfo], doc = "A checkpoint whose tokenizer files are taken along; vocab_size must fit."),
        "_tool": attr.label(default = "//bazel/private/tools:generate_checkpoint", executable = True, cfg = "exec"),
    },
)

def generated_checkpoint(name, config, seed = 0, dtype = "float32", text_from = None, **kwargs):
    """A tiny checkpoint with seeded random weights, for tests and for families without a real one at hand.

    Args:
      name: target name.
      config: dict, the config.json.
      seed: every weight follows from it and the tensor's name.
      dtype: "float32", "float16" or "bfloat16".
      text_from: a checkpoint whose tokenizer files are taken along.
      **kwargs: passed to the rule.
    """
    _generated_checkpoint(
        name = name,
        config = json.encode(config),
        dtype = dtype,
        revision = "seed {} {}".format(seed, dtype),
        seed = seed,
        source = "generated",
        text_from = text_from,
        **kwargs
    )
