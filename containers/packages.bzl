"""Package URLs of the third-party code that images hold, from the locks; `checksum` is the SHA-256 of the package's file."""

load("//third_party:debs.lock.bzl", "DEBS")
load("//third_party:sdists.lock.bzl", "SDISTS")
load("//third_party:wheels.lock.bzl", "WHEELS")

# Linked into the program and the model DSOs.
_LINKED_DEBS = ["cli11", "crates", "nlohmann_json", "openssl"]
_LINKED_SDISTS = ["jq", "tokenizers"]

def deb_purls(group):
    """Package URLs of a group of Debian packages.

    Args:
      group: a key of DEBS.
    Returns:
      list of strings.
    """
    rows = [[word for word in line.split(" ") if word] for line in DEBS[group]]
    return ["pkg:deb/debian/{}@{}?arch={}&checksum=sha256:{}".format(row[1], row[2], row[3], row[0]) for row in rows]

def wheel_purl(name):
    """Package URL of a wheel; without a checksum where each Python version has a file of its own.

    Args:
      name: a key of WHEELS.
    Returns:
      a string.
    """
    wheel = WHEELS[name]
    files = wheel["files"].values()
    checksum = "?checksum=sha256:" + files[0][1] if len(files) == 1 else ""
    return "pkg:pypi/{}@{}{}".format(name, wheel["version"], checksum)

def _sdist_purl(name):
    return "pkg:pypi/{}@{}?checksum=sha256:{}".format(name, SDISTS[name]["version"], SDISTS[name]["sha256"])

RUNTIME_PACKAGES = [purl for group in _LINKED_DEBS for purl in deb_purls(group)] + [
    _sdist_purl(name)
    for name in _LINKED_SDISTS
]

# What people ask of an image to build in, and the package that answers.
_TOOLCHAIN_LABELS = {"compiler": "g++-12", "git": "git", "python": "python3.11"}

def toolchain_labels():
    """Versions of what the image to build in is chosen for, from its lock.

    Returns:
      dict of labels.
    """
    rows = [[word for word in line.split(" ") if word] for line in DEBS["toolchain"]]
    versions = {row[1]: row[2] for row in rows}
    return {"io.trtmc.toolchain." + what: "{} {}".format(package, versions[package]) for what, package in _TOOLCHAIN_LABELS.items()}
