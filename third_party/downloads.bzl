"""Everything pinned that a build may ask for, file by file: what the image to build in can hold as Bazel's cache of downloads.

It knows of no checkpoint, and not of the packages that the image itself is made of.
"""

load(":debs.lock.bzl", "DEBS")
load(":sdists.lock.bzl", "SDISTS")
load(":wheels.lock.bzl", "WHEELS")

# Debian 12's, which is the Python of the image to build in.
PYTHON = "3.11"

def _wheels(of_nvidia):
    found = {}
    for name, pin in WHEELS.items():
        if (name.startswith("nvidia-") or name.startswith("tensorrt-")) == of_nvidia:
            file, sha256 = pin["files"].get(PYTHON) or pin["files"]["any"]
            found[name] = {"file": file, "sha256": sha256, "version": pin["version"]}
    return found

# NVIDIA's wheels, which an image holds only if the user's agreement allows it, and all others.
NVIDIA_WHEELS = _wheels(True)
FREE_WHEELS = _wheels(False)
DOWNLOADED_DEBS = {line: None for group, lines in DEBS.items() if group != "toolchain" for line in lines}.keys()

def sha256_by_file():
    """The pins of all these files.

    Returns:
      dict of file name -> SHA-256.
    """
    found = {pin["file"]: pin["sha256"] for pins in [NVIDIA_WHEELS, FREE_WHEELS, SDISTS] for pin in pins.values()}
    for line in DOWNLOADED_DEBS:
        sha256, name, version, arch, _suite = [word for word in line.split(" ") if word]
        found["{}_{}_{}.deb".format(name, version.replace(":", "%3a"), arch)] = sha256
    return found
