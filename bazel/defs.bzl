"""The rules of TensorRT-Model-Connect: checkpoint → engine → bundle → image.

```
load("//bazel:defs.bzl", "bundle", "checkpoint", "engine")

checkpoint(name = "checkpoint", files = ["@mine//:files"], source = "folder:mine", revision = "1")
engine(name = "llm", checkpoint = ":checkpoint", family = "//families/llama")
bundle(name = "bundle", engines = [":llm"])
```
The target is the platform: `--config=cpu_x86_64` (default), `--config=sm_89` … as in //bazel/targets. The bodies are private.
"""

load("//bazel/private:bundle.bzl", _bundle = "bundle", _bundles = "bundles", _fat_bundle = "fat_bundle")
load("//bazel/private:checkpoint.bzl", _checkpoint = "checkpoint", _generated_checkpoint = "generated_checkpoint")
load(
    "//bazel/private:cuda_library.bzl",
    _CudaInfo = "CudaInfo",
    _CudaToolchainInfo = "CudaToolchainInfo",
    _cuda_library = "cuda_library",
    _cuda_toolchain = "cuda_toolchain",
)
load("//bazel/private:engine.bzl", _engine = "engine")
load("//bazel/private:family.bzl", _family = "family")
load("//bazel/private:image.bzl", _bundle_image = "bundle_image", _image = "image", _images = "images")
load(
    "//bazel/private:image_layer.bzl",
    _base_layer = "base_layer",
    _bazel_layer = "bazel_layer",
    _bundle_layer = "bundle_layer",
    _downloads_layer = "downloads_layer",
    _image_layer = "image_layer",
    _runtime_layer = "runtime_layer",
)
load("//bazel/private:model_dso.bzl", _model_dso = "model_dso")
load(
    "//bazel/private:providers.bzl",
    _BundleInfo = "BundleInfo",
    _CheckpointInfo = "CheckpointInfo",
    _EngineCompilerInfo = "EngineCompilerInfo",
    _EngineInfo = "EngineInfo",
    _FamilyInfo = "FamilyInfo",
    _ImageInfo = "ImageInfo",
    _ImageLayerInfo = "ImageLayerInfo",
    _TargetInfo = "TargetInfo",
)
load("//bazel/private:runtime_root.bzl", _RuntimeRootInfo = "RuntimeRootInfo", _runtime_root = "runtime_root")

base_layer = _base_layer
bazel_layer = _bazel_layer
bundle = _bundle
bundle_image = _bundle_image
bundle_layer = _bundle_layer
bundles = _bundles
checkpoint = _checkpoint
cuda_library = _cuda_library
cuda_toolchain = _cuda_toolchain
downloads_layer = _downloads_layer
engine = _engine
family = _family
fat_bundle = _fat_bundle
generated_checkpoint = _generated_checkpoint
image = _image
image_layer = _image_layer
images = _images
model_dso = _model_dso
runtime_layer = _runtime_layer
runtime_root = _runtime_root

BundleInfo = _BundleInfo
CheckpointInfo = _CheckpointInfo
CudaInfo = _CudaInfo
CudaToolchainInfo = _CudaToolchainInfo
EngineCompilerInfo = _EngineCompilerInfo
EngineInfo = _EngineInfo
FamilyInfo = _FamilyInfo
ImageInfo = _ImageInfo
ImageLayerInfo = _ImageLayerInfo
RuntimeRootInfo = _RuntimeRootInfo
TargetInfo = _TargetInfo
