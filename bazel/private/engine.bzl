"""engine: one component of a checkpoint, compiled for the target of the current platform."""

load("//bazel/targets:table.bzl", "TYPES", "lacking_sentence", "option_sentence")
load(":knobs.bzl", "KNOB_ATTRS", "knob_options")
load(":providers.bzl", "CheckpointInfo", "EngineInfo", "FamilyInfo")

_TYPE = "//bazel/toolchains:engine_compiler_type"

# The compile action's machine is chosen by the compiler's toolchain; everything else of an engine (builder, checkpoint) stays on the building machine's platform.
_GROUP = "compile"

def _two_cores(_os, _inputs):
    return {"cpu": 2, "memory": 1500}

def _one_core(_os, _inputs):
    """TensorRT builds on one thread, so engines for several targets may be built side by side."""
    return {"cpu": 1, "memory": 1500}

def _impl(ctx):
    compiler = ctx.exec_groups[_GROUP].toolchains[_TYPE].engine_compiler
    if compiler.missing:
        fail(compiler.missing)
    lacking = lacking_sentence(compiler.target.name, ctx.attr.precision)
    if lacking:
        fail("{}: {}".format(ctx.label, lacking))
    family = ctx.attr.family[FamilyInfo]
    checkpoint = ctx.attr.checkpoint[CheckpointInfo]
    if ctx.attr.component not in family.components:
        fail("{}: family {} has no component '{}'; it has {}".format(ctx.label, family.name, ctx.attr.component, ", ".join(family.components)))
    prefix = "{}/{}".format(ctx.label.name, ctx.attr.component)
    engine = ctx.actions.declare_file(prefix + ".engine")
    contract = ctx.actions.declare_file(prefix + ".json")
    report = ctx.actions.declare_file(prefix + ".report.json")

    args = ctx.actions.args()
    args.add_all(["engine", "--quiet", "--family", family.name, "--component", ctx.attr.component, "--precision", ctx.attr.precision])
    args.add_all(["--weights", ctx.attr.weights])
    args.add_all("--checkpoint", [checkpoint.directory], expand_directories = False)
    args.add("--target-info", compiler.target.file)
    if ctx.attr.max_sequence:
        args.add("--max-sequence", ctx.attr.max_sequence)
    args.add("--max-batch", ctx.attr.max_batch)
    for key, value in ctx.attr.options.items():
        if key in KNOB_ATTRS:
            fail("{}: '{}' is an attribute of engine(), not one of `options`".format(ctx.label, key))
        refusal = option_sentence(compiler.compiler, key, value)
        if refusal:
            fail("{}: {}".format(ctx.label, refusal))
    for key, value in sorted((ctx.attr.options | knob_options(ctx, compiler.compiler)).items()):
        args.add("--option", "{}={}".format(key, value))
    args.add("--out-engine", engine)
    args.add("--out-contract", contract)
    args.add("--out-report", report)
    ctx.actions.run(
        executable = family.builder,
        arguments = [args],
        inputs = [checkpoint.directory, compiler.target.file],
        outputs = [engine, contract, report],
        mnemonic = "TrtmcEngine",
        progress_message = "Compiling engine %{{label}} ({}, {}) for {}".format(ctx.attr.component, ctx.attr.precision, compiler.target.name),
        exec_group = _GROUP,
        resource_set = _two_cores if compiler.compiler == "openvino" else _one_core,
    )
    return [
        DefaultInfo(files = depset([engine, contract]), runfiles = ctx.runfiles([engine, contract])),
        OutputGroupInfo(report = depset([report])),
        EngineInfo(
            checkpoint = checkpoint,
            component = ctx.attr.component,
            contract = contract,
            engine = engine,
            family = family,
            report = report,
            target = compiler.target,
        ),
    ]

engine = rule(
    implementation = _impl,
    doc = """Compiles one component of a checkpoint with the engine compiler that the platform resolves to.

```
engine(name = "llm", checkpoint = ":checkpoint", family = ":llama", component = "llm", precision = "auto", max_sequence = 2048)
```
The output group `report` says how long each phase took and what memory it needed. Where the compiler needs a GPU of the target, the action runs on a platform of
//bazel/workers, whose properties a remote scheduler gets; `exec_properties = {"compile.NAME": "value"}` adds to them.""",
    provides = [EngineInfo],
    attrs = KNOB_ATTRS | {
        "checkpoint": attr.label(mandatory = True, cfg = "exec", providers = [CheckpointInfo], doc = "What to compile; read by actions alone, so it is prepared once for all targets."),
        "component": attr.string(default = "llm", doc = "Which of the family's networks."),
        "family": attr.label(mandatory = True, providers = [FamilyInfo], doc = "The owner of the model."),
        "max_batch": attr.int(default = 1, doc = "Sequences at once."),
        "max_sequence": attr.int(doc = "Rows of the KV cache; 0 means the model's own limit, at most 2048."),
        "options": attr.string_dict(doc = "Options of a compiler that are no attributes: of the CPU's, `kernels` and `compute`."),
        "weights": attr.string(
            default = "embedded",
            values = ["embedded", "external"],
            doc = "`embedded`: in the engine's own file. `external`: large weights become inputs of the engine; a bundle stores them once, for all its engines.",
        ),
        "precision": attr.string(default = "auto", values = ["auto"] + TYPES, doc = "Type of weights and arithmetic in the network. `auto`: the checkpoint's own, or fp16 where the target lacks that; the report says which. A target that lacks the named type is refused."),
    },
    exec_groups = {_GROUP: exec_group(toolchains = [_TYPE])},
)
