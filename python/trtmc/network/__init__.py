"""Networks that no family made: an ONNX file or a script becomes a finished TensorRT network, and runs on the CPU.

`onnx_model` and `script_model` make a `LoadedNetwork`, `runner` executes one, `arrays` reads or makes its inputs.
Nothing here knows a layer: that is the CPU compiler's part.
"""
