"""@cuda: the CUDA compiler, headers and static runtime, merged from pinned wheels into the one tree that nvcc expects.

The wheels unpack to nvidia/cu13/...; nvcc finds its parts relative to itself, so they must lie in one folder. What no action reads is left out: it would
only make every sandbox slower. The tree's licence is NVIDIA's: it is fetched, never redistributed by this repository.
"""

load(":host_python.bzl", "python_of")
load(":obtain.bzl", "FETCH_ATTRS", "obtain_python_package")
load(":pinned.bzl", "pick_wheel")

_UNUSED = ["lib/cmake", "lib/libcudart.so.13", "nvvm/lib64", "nvvm/libnvvm-samples"]

_BUILD = """\
load("@rules_cc//cc:defs.bzl", "cc_import", "cc_library")
load("{cuda_toolchain}", "cuda_toolchain")

package(default_visibility = ["//visibility:public"])

filegroup(
    name = "compiler",
    srcs = glob(["bin/**", "nvvm/**"]),
)

filegroup(
    name = "headers",
    srcs = glob(["include/**"]),
)

# The CUDA runtime's headers for host code, and its static library: nothing that links it needs libcudart.so.
cc_library(
    name = "runtime_headers",
    hdrs = glob(["include/*.h", "include/*.hpp", "include/crt/**"]),
    includes = ["include"],
)

cc_import(
    name = "cudart_static",
    static_library = "lib/libcudart_static.a",
)

cc_library(
    name = "runtime",
    linkopts = ["-ldl", "-lpthread", "-lrt"],
    deps = [
        ":cudart_static",
        ":runtime_headers",
    ],
)

cuda_toolchain(
    name = "cuda_toolchain",
    architectures = {architectures},
    compiler = ":compiler",
    headers = ":headers",
    nvcc = "bin/nvcc",
    runtime = ":runtime",
    version = "{version}",
)
"""

def _impl(rctx):
    python = python_of(rctx, rctx.attr._python)
    wheels = json.decode(rctx.attr.wheels)
    for package, pin in wheels.items():
        picked = pick_wheel(pin["files"], python.version)
        if not picked:
            fail("{}=={} is locked for Python {}, but @host_python is {}. What to do: set HOST_PYTHON, or run `make lock`".format(
                package,
                pin["version"],
                ", ".join(pin["files"].keys()),
                python.version,
            ))
        file, sha256 = picked
        obtain_python_package(rctx, "wheel", package, pin["version"], file, sha256, file)
        rctx.symlink(file, file + ".zip")
        rctx.extract(file + ".zip", stripPrefix = "nvidia/cu13")
        rctx.delete(file + ".zip")
        rctx.delete(file)
    for path in _UNUSED:
        rctx.delete(path)

    # The wheels say 0744: an action that runs as another user could not start the programs.
    done = rctx.execute(["/bin/sh", "-c", "chmod 0755 bin/* nvvm/bin/* && chmod -R a+rX ."])
    if done.return_code != 0:
        fail("the CUDA programs of {} cannot be made executable:\n{}".format(rctx.name, done.stderr))
    rctx.file("BUILD.bazel", _BUILD.format(
        architectures = repr(rctx.attr.architectures),
        cuda_toolchain = str(Label("//bazel:defs.bzl")),
        version = wheels["nvidia-cuda-nvcc"]["version"],
    ))
    rctx.file("WORKSPACE", "")

cuda_toolkit = repository_rule(
    implementation = _impl,
    doc = "The CUDA compiler, headers and static runtime in one tree, with a `:cuda_toolchain` and a `:runtime` library.",
    attrs = FETCH_ATTRS | {
        "architectures": attr.string_list(mandatory = True, doc = "GPU codes that this compiler makes, such as sm_89."),
        "wheels": attr.string(mandatory = True, doc = "JSON: package -> its entry in wheels.lock.bzl."),
    },
)
