"""The TensorRT Python package and the mapping between its types and ours.

TensorRT-RTX and enterprise TensorRT share the INetworkDefinition API; `trtmc.core.tensorrt_package` says which
one it is.
"""

from __future__ import annotations

import importlib

from trtmc import heap
from trtmc.core import tensorrt_package
from trtmc.core.dtype import DType
from trtmc.core.errors import MissingComponent

_PACKAGE = tensorrt_package.take()
try:
    trt = importlib.import_module(_PACKAGE)
except ImportError as error:  # pragma: no cover - exercised by hand, the test environment always has it
    raise MissingComponent(
        "builder.tensorrt_missing",
        f"package '{_PACKAGE.replace('_', '-')}' cannot be imported ({error}); install it, it defines the networks",
    ) from error

heap.serve(_PACKAGE)  # before the first builder, so that all that builders make lies in one heap

TO_TRT = {
    DType.F32: trt.float32,
    DType.F16: trt.float16,
    DType.BF16: trt.bfloat16,
    DType.I64: trt.int64,
    DType.I32: trt.int32,
    DType.I8: trt.int8,
    DType.U8: trt.uint8,
    DType.BOOL: trt.bool,
    DType.F8_E4M3: trt.fp8,
    DType.F8_E8M0: trt.DataType.E8M0,
    DType.I4: trt.int4,
    DType.F4_E2M1: trt.fp4,
}
FROM_TRT = {native: dtype for dtype, native in TO_TRT.items()}

__all__ = ["FROM_TRT", "TO_TRT", "trt"]
