"""The external weights of an engine in an open bundle, as arrays: what the C++ runtime does at load, in numpy.

For tools and tests; a cast is that of `trtmc.core.precision`. This module knows no engine and no backend.

    external_weights(bundle, bundle.header.components[0].engines[0])["model.embed_tokens.weight"]
"""

from __future__ import annotations

import numpy as np

from trtmc.bundle.header import Engine
from trtmc.bundle.reader import Bundle
from trtmc.bundle.stored_weights import stored_bytes
from trtmc.core.dtype import DType
from trtmc.core.precision import convert


def external_weights(bundle: Bundle, engine: Engine) -> dict[str, np.ndarray]:
    """By input name, in the storage type of the dtype (bfloat16 as uint16); those without a cast are views."""
    stored = bundle.header.weights
    if stored is None:
        return {}
    tensors = {tensor.name: tensor for tensor in stored.tensors}
    content = np.frombuffer(bundle.section(stored.section), np.uint8)
    result = {}
    for binding in engine.weights:
        tensor = tensors[binding.tensor]
        source = DType(tensor.dtype)
        raw = content[tensor.offset : tensor.offset + stored_bytes(tensor.dtype, tensor.shape)]
        array = raw.view(source.storage).reshape(binding.shape)
        result[binding.input] = convert(array, source, DType(binding.dtype), binding.input) if binding.steps else array
    return result
