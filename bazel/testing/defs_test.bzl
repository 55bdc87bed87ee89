"""Tests of the test macros: what a tier means, and the names that //bazel:defs.bzl offers."""

load("@bazel_skylib//lib:unittest.bzl", "asserts", "unittest")
load("//bazel:defs.bzl", "BundleInfo", "CheckpointInfo", "CudaInfo", "CudaToolchainInfo", "EngineCompilerInfo", "EngineInfo", "FamilyInfo", "RuntimeRootInfo", "TargetInfo", "bundle", "bundles", "checkpoint", "cuda_library", "cuda_toolchain", "engine", "family", "fat_bundle", "generated_checkpoint", "model_dso", "runtime_root")
load(":defs.bzl", "tier_attrs")

def _tiers_impl(ctx):
    env = unittest.begin(ctx)
    asserts.equals(env, {"size": "small", "tags": ["null"]}, tier_attrs("x", "null", {}))
    asserts.equals(env, {"size": "medium", "tags": ["cpu", "slow"]}, tier_attrs("x", "cpu", {"tags": ["slow"]}))
    asserts.equals(env, {"size": "small", "tags": ["gpu", "exclusive"]}, tier_attrs("x", "gpu", {"size": "small"}))
    return unittest.end(env)

_tiers_test = unittest.make(_tiers_impl)

def _public_names_impl(ctx):
    env = unittest.begin(ctx)

    # The load above fails when a name goes away; this list is what users may rely on.
    names = [bundle, bundles, checkpoint, cuda_library, cuda_toolchain, engine, family, fat_bundle, generated_checkpoint, model_dso, runtime_root]
    providers = [BundleInfo, CheckpointInfo, CudaInfo, CudaToolchainInfo, EngineCompilerInfo, EngineInfo, FamilyInfo, RuntimeRootInfo, TargetInfo]
    asserts.equals(env, 20, len(names + providers))
    return unittest.end(env)

_public_names_test = unittest.make(_public_names_impl)

def testing_test_suite(name):
    """All tests of this file.

    Args:
      name: name of the suite.
    """
    unittest.suite(name, _tiers_test, _public_names_test)
