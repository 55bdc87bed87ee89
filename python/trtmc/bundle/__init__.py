"""The bundle format: the one file that build hands to runtime.

    write_bundle(path, header, sections) -> bundle id
    read_bundle(path, verify="lazy") -> Bundle

The format's normative description is docs/bundle-format.md.
"""

from trtmc.bundle.header import (
    Assets,
    Builder,
    BundleHeader,
    CheckpointFile,
    CheckpointInfo,
    Component,
    Contract,
    Engine,
    Limits,
    Profile,
    Provenance,
    SamplingDefaults,
    StatePair,
    StoredTensor,
    StoredWeights,
    Target,
    TensorSpec,
    TextGeneration,
    WeightBinding,
)
from trtmc.bundle.reader import Bundle, read_bundle
from trtmc.bundle.writer import SectionSource, write_bundle

__all__ = [
    "Assets",
    "Builder",
    "Bundle",
    "BundleHeader",
    "CheckpointFile",
    "CheckpointInfo",
    "Component",
    "Contract",
    "Engine",
    "Limits",
    "Profile",
    "Provenance",
    "SamplingDefaults",
    "SectionSource",
    "StatePair",
    "StoredTensor",
    "StoredWeights",
    "Target",
    "TensorSpec",
    "TextGeneration",
    "WeightBinding",
    "read_bundle",
    "write_bundle",
]
