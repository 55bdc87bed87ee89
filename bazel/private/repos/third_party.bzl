"""All pinned repositories at once, for MODULE.bazel's extension and for WORKSPACE alike. The pins stand in //third_party."""

load("//third_party:debs.lock.bzl", "DEBS")
load("//third_party:downloads.bzl", "DOWNLOADED_DEBS", "FREE_WHEELS", "NVIDIA_WHEELS", "PYTHON")
load("//third_party:sdists.lock.bzl", "SDISTS")
load("//third_party:wheels.lock.bzl", "WHEELS")
load(":cuda.bzl", "cuda_toolkit")
load(":pinned.bzl", "deb_group", "downloads", "hub", "packed_debs", "sdist", "wheel")

# Wheels that are more than a Python library: text to append to their BUILD files.
_MORE = {name: "//third_party/build_files:{}.BUILD".format(name) for name in ["buildstream", "kubernetes-validate", "onnx", "openvino", "pybind11", "ruff", "tensorrt-rtx-cu13-libs"]}

# Parts of a wheel that this build has no use for.
_EXCLUDE = {
    "kubernetes-validate": ["**"],
    "openvino": [
        "openvino/libs/*gpu*",
        "openvino/libs/*npu*",
        "openvino/libs/*tensorflow*",
        "openvino/libs/*paddle*",
        "openvino/libs/*pytorch*",
        "openvino/libs/*jax*",
        "openvino/libs/*gguf*",
    ],
}

# Wheels that make up @cuda instead of being Python libraries.
_CUDA = ["nvidia-cuda-cccl", "nvidia-cuda-crt", "nvidia-cuda-nvcc", "nvidia-cuda-runtime", "nvidia-nvvm"]

# What nvcc 13.0 compiles for.
_CUDA_ARCHITECTURES = ["sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103", "sm_110", "sm_120", "sm_120a", "sm_121"]

# Groups that stay packed: what images are made of.
_PACKED = ["image_base", "toolchain"]

def pinned_repositories():
    """Declares a repository for every pin, @cuda, and the hubs @pypi and @debs."""
    cuda_toolkit(
        name = "cuda",
        architectures = _CUDA_ARCHITECTURES,
        wheels = json.encode({name: WHEELS[name] for name in _CUDA}),
    )
    pypi = {}
    for name, pin in WHEELS.items():
        if name in _CUDA:
            continue
        repository = "wheel_" + name.replace("-", "_")
        wheel(
            name = repository,
            deps = pin["deps"],
            exclude = _EXCLUDE.get(name, []),
            files = json.encode(pin["files"]),
            more = _MORE.get(name),
            package = name,
            version = pin["version"],
        )
        pypi[name.replace("-", "_")] = "@{}//:lib".format(repository)
        if name in _MORE:
            pypi[name.replace("-", "_") + "_more"] = "@{}//:more".format(repository)
    pypi["openvino_cpu_libraries"] = "@wheel_openvino//:cpu_libraries"
    pypi["tensorrt_rtx_licence"] = "@wheel_tensorrt_rtx_cu13_libs//:licence"
    for name, pin in SDISTS.items():
        repository = "sdist_" + name.replace("-", "_")
        sdist(
            name = repository,
            file = pin["file"],
            package = name,
            sha256 = pin["sha256"],
            version = pin["version"],
        )
        pypi["{}_sdist".format(name.replace("-", "_"))] = "@{}//:archive".format(repository)
    downloads(
        name = "downloads",
        debs = DOWNLOADED_DEBS,
        python = PYTHON,
        sdists = json.encode(SDISTS),
        wheels = json.encode(FREE_WHEELS),
    )
    downloads(name = "downloads_nvidia", python = PYTHON, wheels = json.encode(NVIDIA_WHEELS))
    pypi |= {name: "@{}//:files".format(name) for name in ["downloads", "downloads_nvidia"]}
    hub(name = "pypi", names = pypi)

    debs = {}
    for group, lock in DEBS.items():
        repository = "deb_" + group
        debs[group] = "@{}//:{}".format(repository, group)
        if group in _PACKED:
            packed_debs(name = repository, group = group, lock = lock)
            continue
        deb_group(
            name = repository,
            build_file = "//third_party/build_files:{}.BUILD".format(group),
            lock = lock,
        )
    packed_debs(name = "deb_bazel", group = "bazel", lock_file = "//third_party:bazel.debs.lock")
    debs["bazel"] = "@deb_bazel//:bazel"
    debs["gtest"] = "@deb_googletest//:gtest"
    hub(name = "debs", names = debs)
