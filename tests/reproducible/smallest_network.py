"""The smallest network whose plan depends on where TensorRT's objects lie: one KV-cache update with a dynamic batch.

    python -m tests.reproducible.smallest_network 100

Builds it that often, with other holes in the process's heap each time, and prints how often each plan came.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import random
import sys
from collections import Counter

from trtmc import heap
from trtmc.compilers.tensorrt.configuration import set_target
from trtmc.compilers.tensorrt.profiles import add_profile
from trtmc.core.contract import DimRange, Profile, TensorSpec
from trtmc.core.dtype import DType
from trtmc.core.target import named_target
from trtmc.ops.lowering.attention import kv_cache_update
from trtmc.ops.lowering.network import NetworkLowering

INPUTS = (
    TensorSpec("cache", DType.F16, ("batch", 2, 32, 64)),
    TensorSpec("update", DType.F16, ("batch", 2, "sequence", 64)),
    TensorSpec("write_indices", DType.I32, ("batch",)),
)
PROFILE = Profile("context", {"batch": DimRange(1, 1, 4), "sequence": DimRange(1, 8, 32)})


def plan(target: str = "sm_89") -> bytes:
    """The network's plan."""
    net = NetworkLowering()
    net.mark_output("updated", kv_cache_update(net, *(net.add_input(spec) for spec in INPUTS)))
    config = net.builder.create_builder_config()
    set_target(config, named_target(target))
    add_profile(net.builder, config, INPUTS, PROFILE)
    return bytes(net.builder.build_serialized_network(net.network, config))


def make_holes(rng: random.Random) -> None:
    """Leaves free blocks of many sizes in the system's heap."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes, libc.free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
    blocks = [libc.malloc(16 * rng.randint(1, 40)) for _ in range(rng.randrange(20_000))]
    rng.shuffle(blocks)
    for block in blocks[::2]:
        libc.free(block)


def main(count: int) -> None:
    rng = random.Random()
    plans: Counter[str] = Counter()
    plan()  # a process's first build also fills tables that TensorRT keeps, which changes what it asks for later
    for _ in range(count):
        make_holes(rng)
        plans[hashlib.sha256(plan()).hexdigest()[:12]] += 1
    print(json.dumps({"heap": heap.kind(), "plans": dict(plans.most_common())}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
