"""bundle, fat_bundle and bundles: engines, tokenizer and contracts packed into one file, verified in every build.

`fat_bundle` puts the engines of many targets into one file, `bundles` makes one file for each target.
"""

load("//bazel/targets:table.bzl", "TARGETS", "buildable_targets")
load(":providers.bzl", "BundleInfo", "EngineInfo")

def _same(ctx, engines, what, values):
    """All engines of a bundle must agree."""
    for engine, value in zip(engines, values):
        if value != values[0]:
            fail("{}: engine {} has {} {}, engine {} has {}".format(ctx.label, engines[0].component, what, values[0], engine.component, value))

def _pack(ctx, parts):
    """Packs and verifies; `parts` is a list of lists of EngineInfo, one for each target."""
    engines = [engine for part in parts for engine in part]
    _same(ctx, engines, "family", [engine.family.name for engine in engines])
    _same(ctx, engines, "checkpoint", [engine.checkpoint.directory.path for engine in engines])
    first = engines[0]
    for part in parts:
        _same(ctx, part, "target", [engine.target.name for engine in part])
        given = sorted([engine.component for engine in part])
        if given != sorted(first.family.components):
            fail("{}: a bundle of family {} needs the components {}; engines are given for {}".format(ctx.label, first.family.name, ", ".join(first.family.components), ", ".join(given)))

    targets = [part[0].target for part in parts]
    bundle = ctx.actions.declare_file(ctx.label.name + ".bundle")
    args = ctx.actions.args()
    args.add_all(["pack", "--quiet", "--family", first.family.name])
    args.add_all("--checkpoint", [first.checkpoint.directory], expand_directories = False)
    for target in targets:
        args.add("--target-info", target.file)
    for engine in engines:
        name = "{}/{}".format(engine.target.name, engine.component) if len(parts) > 1 else engine.component
        args.add("--engine", engine.engine, format = name + "=%s")
        args.add("--contract", engine.contract, format = name + "=%s")
    args.add("--output", bundle)
    ctx.actions.run(
        executable = first.family.builder,
        arguments = [args],
        inputs = [first.checkpoint.directory] + [target.file for target in targets] + [engine.engine for engine in engines] + [engine.contract for engine in engines],
        outputs = [bundle],
        mnemonic = "TrtmcBundle",
        progress_message = "Packing bundle %{label} for " + ", ".join([target.name for target in targets]),
    )

    verdict = ctx.actions.declare_file(ctx.label.name + ".verified.json")
    ctx.actions.run_shell(
        tools = [first.family.builder],
        arguments = [first.family.builder.executable.path, bundle.path, verdict.path],
        inputs = [bundle],
        outputs = [verdict],
        command = '"$1" verify "$2" --json > "$3"',
        mnemonic = "TrtmcVerify",
        progress_message = "Verifying bundle %{label}",
    )
    return [
        DefaultInfo(files = depset([bundle]), runfiles = ctx.runfiles([bundle])),
        OutputGroupInfo(_validation = depset([verdict]), report = depset([engine.report for engine in engines])),
        BundleInfo(bundle = bundle, family = first.family, targets = targets),
    ]

def _impl(ctx):
    return _pack(ctx, [[target[EngineInfo] for target in ctx.attr.engines]])

bundle = rule(
    implementation = _impl,
    doc = """Packs the engines of one checkpoint into a bundle. Every build of a bundle verifies it too (a validation action).

```
bundle(name = "bundle", engines = [":llm"])
```""",
    provides = [BundleInfo],
    attrs = {
        "engines": attr.label_list(mandatory = True, allow_empty = False, providers = [EngineInfo], doc = "One for each component of the family."),
    },
)

def _targets_transition_impl(_settings, attr):
    return {name: {"//command_line_option:platforms": ["//bazel/targets:" + name]} for name in attr.targets}

_targets_transition = transition(
    implementation = _targets_transition_impl,
    inputs = [],
    outputs = ["//command_line_option:platforms"],
)

def _fat_bundle_impl(ctx):
    return _pack(ctx, [
        [target[EngineInfo] for target in engines]
        for _, engines in sorted(ctx.split_attr.engines.items())
    ])

_fat_bundle = rule(
    implementation = _fat_bundle_impl,
    doc = "One bundle with engines for several targets.",
    provides = [BundleInfo],
    attrs = {
        "engines": attr.label_list(mandatory = True, allow_empty = False, cfg = _targets_transition, providers = [EngineInfo], doc = "One for each component of the family."),
        "targets": attr.string_list(mandatory = True, allow_empty = False, doc = "Names of targets."),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
)

def _known(name, targets):
    """The targets, or all that can be built if none are named; refuses names that are none."""
    for target in targets or []:
        if target not in TARGETS:
            fail("{}: unknown target {}; known are {}".format(name, target, ", ".join(sorted(TARGETS))))
    return targets or buildable_targets()

def fat_bundle(name, engines, targets = None, **kwargs):
    """One bundle for many machines: the runtime picks the engine for the GPU at hand, else for the CPU.

    With `weights = "external"` in the engines, all of them share one copy of the weights.

    Args:
      name: target name.
      engines: one engine() for each component of the family; each is built for every target.
      targets: names of targets; by default all that can be built.
      **kwargs: passed to the rule.
    """
    _fat_bundle(name = name, engines = engines, targets = _known(name, targets), **kwargs)

def _bundles_impl(ctx):
    files = []
    validations = []
    for name, targets in ctx.split_attr.bundle.items():
        link = ctx.actions.declare_file("{}/{}.bundle".format(ctx.label.name, name))
        ctx.actions.symlink(output = link, target_file = targets[BundleInfo].bundle)
        files.append(link)
        validations.append(targets[OutputGroupInfo]._validation)
    return [
        DefaultInfo(files = depset(files), runfiles = ctx.runfiles(files)),
        OutputGroupInfo(_validation = depset(transitive = validations)),
    ]

_bundles = rule(
    implementation = _bundles_impl,
    doc = "One bundle for several targets.",
    attrs = {
        "bundle": attr.label(mandatory = True, cfg = _targets_transition, providers = [BundleInfo], doc = "The bundle."),
        "targets": attr.string_list(mandatory = True, doc = "Names of targets."),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
)

def bundles(name, bundle, targets = None, **kwargs):
    """A bundle for many targets at once: NAME/TARGET.bundle for each.

    Args:
      name: target name.
      bundle: the bundle.
      targets: names of targets; by default all that can be built.
      **kwargs: passed to the rule.
    """
    _bundles(name = name, bundle = bundle, targets = _known(name, targets), **kwargs)
