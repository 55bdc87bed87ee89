"""kubernetes.yaml is what Kubernetes itself takes: its own strict schema, which knows every field and no other."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

EXAMPLE = Path(__file__).absolute().parent / "kubernetes.yaml"
SCHEMAS = {Path(path).name: json.loads(Path(path).read_text("utf-8")) for path in os.environ["TRTMC_SCHEMAS"].split()}


def deployment() -> dict[str, Any]:
    """The one object of the example."""
    (found,) = yaml.safe_load_all(EXAMPLE.read_text("utf-8"))
    return dict(found)


def complaints(value: dict[str, Any]) -> list[str]:
    """What the schema has against an object."""
    resources = [(name, Resource(schema, DRAFT7)) for name, schema in SCHEMAS.items()]
    validator = Draft7Validator(SCHEMAS["deployment-apps-v1.json"], registry=Registry().with_resources(resources))
    return [error.message for error in validator.iter_errors(value)]


def container(value: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = value["spec"]["template"]["spec"]["containers"][0]
    return found


def test_the_example_is_a_deployment_that_the_schema_takes() -> None:
    assert (deployment()["apiVersion"], deployment()["kind"]) == ("apps/v1", "Deployment")
    assert complaints(deployment()) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda value: container(value).update(livenessProb={}), "'livenessProb' was unexpected"),
        (lambda value: container(value)["securityContext"].update(readOnlyRoot=True), "'readOnlyRoot' was unexpected"),
        (lambda value: container(value)["livenessProbe"].update(periodSeconds="300"), "'300' is not of type"),
        (lambda value: container(value).pop("name"), "'name' is a required property"),
        (lambda value: value["spec"].pop("selector"), "'selector' is a required property"),
        (lambda value: value.update(apiVersion="v1"), "'v1' is not one of"),
    ],
)
def test_the_schema_refuses_what_is_wrong(change: Callable[[dict[str, Any]], None], reason: str) -> None:
    value = copy.deepcopy(deployment())
    change(value)
    assert any(reason in line for line in complaints(value)), complaints(value)


def test_what_refers_to_each_other_fits() -> None:
    spec = deployment()["spec"]
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    mounted = {mount["name"]: mount["mountPath"] for mount in container(deployment())["volumeMounts"]}
    assert set(mounted) == {volume["name"] for volume in spec["template"]["spec"]["volumes"]}
    bundle = container(deployment())["args"][1]
    assert bundle.startswith(mounted["bundles"] + "/")
