"""What travels with an image, attached to its digest: an SPDX list of what is inside, and an in-toto/SLSA statement
of how it was made.

Neither holds a time or a machine: the same image has the same documents everywhere. They are unsigned; docs/images.md
says how to sign.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

SPDX_TYPE = "application/spdx+json"
STATEMENT_TYPE = "application/vnd.in-toto+json"
EPOCH = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Subject:
    """The image that a document is about."""

    repository: str
    tag: str
    version: str
    digest: str
    architecture: str

    @property
    def purl(self) -> str:
        """The image's package URL."""
        digest = self.digest.replace(":", "%3A")
        return f"pkg:oci/{self.repository}@{digest}?arch={self.architecture}&tag={self.tag}"


@dataclass(frozen=True)
class Material:
    """Something that the image was made from."""

    name: str
    version: str
    purl: str
    sha256: str = ""
    layer: str = ""


def materials_of(descriptors: list[dict[str, Any]]) -> list[Material]:
    """The packages of all layers, each once, by name."""
    found = {
        row["purl"]: Material(row["name"], row["version"], row["purl"], row.get("sha256", ""), layer["name"])
        for layer in reversed(descriptors)
        for row in layer["packages"]
    }
    return sorted(found.values(), key=lambda material: (material.name, material.purl))


def _spdx_id(text: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", text)


def _spdx_package(material: Material) -> dict[str, Any]:
    package: dict[str, Any] = {
        "SPDXID": _spdx_id(material.purl),
        "name": material.name,
        "versionInfo": material.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": material.purl}
        ],
    }
    if material.layer:
        package["comment"] = f"in layer '{material.layer}'"
    if material.sha256:
        package["checksums"] = [{"algorithm": "SHA256", "checksumValue": material.sha256}]
    return package


def spdx(subject: Subject, materials: list[Material]) -> dict[str, Any]:
    """The SPDX 2.3 document."""
    image = _spdx_package(Material(subject.repository, subject.version, subject.purl, subject.digest[7:]))
    image["primaryPackagePurpose"] = "CONTAINER"
    packages = [_spdx_package(material) for material in materials]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{subject.repository}:{subject.tag}",
        "documentNamespace": f"urn:trtmc:spdx:{subject.digest}",
        "creationInfo": {"created": EPOCH, "creators": [f"Tool: trtmc-image-{subject.version}"]},
        "packages": [image, *packages],
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": image["SPDXID"],
            },
            *(
                {
                    "spdxElementId": image["SPDXID"],
                    "relationshipType": "CONTAINS",
                    "relatedSpdxElement": package["SPDXID"],
                }
                for package in packages
            ),
        ],
    }


def provenance(
    subject: Subject, label: str, target: dict[str, Any] | None, source_sha256: str, materials: list[Material]
) -> dict[str, Any]:
    """The in-toto statement with SLSA provenance version 1; `target` is None for an image that serves every target."""
    dependencies: list[dict[str, Any]] = []
    if source_sha256:
        dependencies.append({"name": "source", "uri": "urn:trtmc:source", "digest": {"sha256": source_sha256}})
    for material in materials:
        row: dict[str, Any] = {"name": material.name, "uri": material.purl}
        if material.sha256:
            row["digest"] = {"sha256": material.sha256}
        dependencies.append(row)
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": f"{subject.repository}:{subject.tag}", "digest": {"sha256": subject.digest[7:]}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:trtmc:build:bazel:1",
                "externalParameters": {"label": label} | ({"target": target["name"]} if target else {}),
                "internalParameters": {"target": target} if target else {},
                "resolvedDependencies": dependencies,
            },
            "runDetails": {"builder": {"id": "urn:trtmc:builder:bazel"}},
        },
    }
