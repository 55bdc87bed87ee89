"""Qwen2, Qwen2.5 and Qwen3 dense decoders (`model_type` qwen2 or qwen3)."""

from pathlib import Path

from families.qwen.artifacts import text_artifacts
from families.qwen.configuration import read_config
from families.qwen.modeling_qwen_llm import QwenForCausalLM
from families.qwen.weights import load
from trtmc.core.family import Component, Family, FamilyManifest
from trtmc.core.profiles import decoder_profiles

FAMILY = Family(
    manifest=FamilyManifest.read(Path(__file__).with_name("MODEL.toml")),
    read_config=read_config,
    components={"llm": Component(create=QwenForCausalLM, load=load, profiles=decoder_profiles)},
    artifacts=text_artifacts,
)
