"""Llama 2 and 3, SmolLM2 and everything else whose config says `model_type: llama`."""

from pathlib import Path

from families.llama.artifacts import text_artifacts
from families.llama.configuration import read_config
from families.llama.modeling_llama_llm import LlamaForCausalLM
from families.llama.weights import load
from trtmc.core.family import Component, Family, FamilyManifest
from trtmc.core.profiles import decoder_profiles

FAMILY = Family(
    manifest=FamilyManifest.read(Path(__file__).with_name("MODEL.toml")),
    read_config=read_config,
    components={"llm": Component(create=LlamaForCausalLM, load=load, profiles=decoder_profiles)},
    artifacts=text_artifacts,
)
