"""Compilers: a finished network becomes engine bytes for one target.

    compiler = find_compiler("openvino")
    engine = compiler.compile(build, CompileOptions(target))
    engine.write(Path("llm.engine"))

`base` has the interface, `registry` the names. A compiler builds no graph and knows no model.
"""

from trtmc.compilers.base import CompiledEngine, CompileOptions, Compiler, NetworkSource
from trtmc.compilers.registry import compiler_names, find_compiler

__all__ = ["CompileOptions", "CompiledEngine", "Compiler", "NetworkSource", "compiler_names", "find_compiler"]
