"""Mistral 7B, Mistral Nemo, Mistral Small 2 and everything else whose config says `model_type: mistral`."""

from pathlib import Path

from families.mistral.artifacts import text_artifacts
from families.mistral.configuration import read_config
from families.mistral.modeling_mistral_llm import MistralForCausalLM
from families.mistral.weights import load
from trtmc.core.family import Component, Family, FamilyManifest
from trtmc.core.profiles import decoder_profiles

FAMILY = Family(
    manifest=FamilyManifest.read(Path(__file__).with_name("MODEL.toml")),
    read_config=read_config,
    components={"llm": Component(create=MistralForCausalLM, load=load, profiles=decoder_profiles)},
    artifacts=text_artifacts,
)
