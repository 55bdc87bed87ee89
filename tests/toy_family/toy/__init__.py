"""Toy: a decoder that no one ships, to show and to test how a family is added."""

from pathlib import Path

from families.toy.artifacts import text_artifacts
from families.toy.configuration import read_config
from families.toy.modeling_toy_llm import ToyForCausalLM
from families.toy.weights import load
from trtmc.core.family import Component, Family, FamilyManifest
from trtmc.core.profiles import decoder_profiles

FAMILY = Family(
    manifest=FamilyManifest.read(Path(__file__).with_name("MODEL.toml")),
    read_config=read_config,
    components={"llm": Component(create=ToyForCausalLM, load=load, profiles=decoder_profiles)},
    artifacts=text_artifacts,
)
