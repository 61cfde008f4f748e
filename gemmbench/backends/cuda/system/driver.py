"""The driver's interfaces, imported when a GPU is needed: modules of this package import without them.

pycuda's serves most purposes; cuda.bindings, which nvmath-python brings, has what pycuda lacks.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from gemmbench.backends.cuda.system import probe
from gemmbench.errors import DeviceError, NotOffered


def load_driver() -> ModuleType:
    """`pycuda.driver`, initialised. Raises DeviceError with what is missing."""
    try:
        module = import_module("pycuda.driver")
    except ImportError as fault:
        raise DeviceError(f"the CUDA back end cannot be used: {probe.why_no_gpu() or fault}") from fault
    try:
        module.init()
    except module.Error as fault:
        raise DeviceError(f"CUDA does not start: {probe.why_no_gpu() or fault}") from fault
    return module


def load_bindings(purpose: str) -> ModuleType:
    """`cuda.bindings.driver`, for what `purpose` names: "graphs". Raises NotOffered if it is not installed."""
    try:
        return import_module("cuda.bindings.driver")
    except ImportError as fault:
        raise NotOffered(f"{purpose} need cuda-bindings: pip install 'gemmbench[cuda]'") from fault
