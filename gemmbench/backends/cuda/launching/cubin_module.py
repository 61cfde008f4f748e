"""Loading cubins: pycuda's SourceModule, with the compilation taken out.

pycuda's own SourceModule runs nvcc when it is made. That compilation has no time limit, drops what
ptxas reports, preprocesses every text with an `#include` even if the result is cached, and writes
its cache non-atomically. Therefore `compiling.nvcc` compiles ahead, in parallel, into gemmbench's
cache, and the class here loads the finished cubin. Everything else is inherited: the check of the
architecture, `get_function`, `get_global` and the lifetime of the module.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from gemmbench.backends.cuda.system.driver import load_driver


class _ReadyCubin:
    """The half of a CubinModule that comes before pycuda's: it loads a file where SourceModule compiles."""

    module: Any

    def __init__(self, path: str, arch: str):
        pycuda_half: Any = self
        pycuda_half._check_arch(f"sm_{arch}")
        self.module = load_driver().module_from_file(path)
        pycuda_half._bind_module()


@cache
def cubin_module_class() -> type:
    """CubinModule, a subclass of pycuda.compiler.SourceModule; made when pycuda is first needed."""
    source_module = import_module("pycuda.compiler").SourceModule
    return type("CubinModule", (_ReadyCubin, source_module), {"__doc__": "A SourceModule of a ready cubin."})


def load_cubin(path: str, arch: str) -> Any:
    """A SourceModule of the cubin at `path`, which was compiled for `arch` ("90a"). Raises pycuda's errors.

    The code is unloaded with the last reference to the module or one of its functions.
    """
    return cubin_module_class()(path, arch)
