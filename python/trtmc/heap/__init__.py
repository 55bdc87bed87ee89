"""A heap of its own for TensorRT's builder, so that an engine's bytes do not depend on where its objects happen to lie.

`stable` puts it in place; `stable_heap.h` says why it helps; docs/reproducible-engines.md has the measurements.
"""

from trtmc.heap.stable import enter, kind, own_process, serve, start_afresh

__all__ = ["enter", "kind", "own_process", "serve", "start_afresh"]
