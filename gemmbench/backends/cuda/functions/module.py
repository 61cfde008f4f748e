"""Loads the module of a Python variant, and explains what its code raises."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from gemmbench.backends.cache.artifacts import content_key
from gemmbench.backends.cuda.failure import to_plan_error
from gemmbench.errors import DeviceLost, LaunchError, NotOffered, OutOfMemory, PlanError
from gemmbench.planning.manifests.code.packages import find_pip_line
from gemmbench.planning.manifests.kernel_code import FUNCTION
from gemmbench.planning.manifests.variant import Variant

Gemm = Callable[..., object]

_ADVICE_OF_TORCH = "CUDA kernel errors might be asynchronously reported"
"""How the advice begins with which PyTorch ends every error of CUDA."""


def load_function(variant: Variant) -> Gemm:
    """Run the module of a variant and return its `gemm`.

    The text is that of the plan: a file that was changed meanwhile does not matter. Raises PlanError.
    """
    name = _name_module(variant)
    if name not in sys.modules:
        with explain_errors(variant):
            sys.modules[name] = _run_module(name, variant)
    gemm: Gemm = getattr(sys.modules[name], FUNCTION)
    return gemm


def forget_module(variant: Variant) -> None:
    """Let go of a module, and of what it keeps, once no function of it is in use."""
    sys.modules.pop(_name_module(variant), None)


def _name_module(variant: Variant) -> str:
    return f"gemmbench_variant_{content_key([variant.path, variant.text])}"


def _run_module(name: str, variant: Variant) -> ModuleType:
    """Run the text. Triton reads the source of a function through linecache, which gets the same text."""
    code = compile(variant.text, variant.path, "exec")
    linecache.cache[variant.path] = len(variant.text), None, variant.text.splitlines(keepends=True), variant.path
    module = ModuleType(name)
    module.__file__ = variant.code.file
    sys.modules[name] = module  # dataclasses and Triton look a class or a function up in its module
    try:
        with _import_from(str(Path(module.__file__).parent)):
            exec(code, module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def _import_from(folder: str) -> Iterator[None]:
    """Find modules next to the variant too, behind all others."""
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextmanager
def explain_errors(variant: Variant) -> Iterator[None]:
    """Turn what the code of a variant raises into a PlanError that names the line of its file."""
    try:
        yield
    except (PlanError, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as fault:
        if fault.name is None:
            raise _explain(variant, fault) from fault
        pip = find_pip_line(fault.name.partition(".")[0])
        raise NotOffered(f"{_find_place(variant, fault)}: Python finds no module {fault.name}; {pip}") from fault
    except BaseException as fault:  # a module may call sys.exit()
        raise _explain(variant, fault) from fault


def _explain(variant: Variant, fault: BaseException) -> PlanError:
    text = " ".join(str(fault).partition(_ADVICE_OF_TORCH)[0].split())
    words = f"{_find_place(variant, fault)}: {type(fault).__name__}" + (f": {text}" if text else "")
    known = to_plan_error(Exception(text))
    if isinstance(known, DeviceLost | OutOfMemory):
        return type(known)(words)
    return LaunchError(f"the function raised: {words}")


def _find_place(variant: Variant, fault: BaseException) -> str:
    """The last line of the variant's file that took part; the file, if none did."""
    lines = [frame.lineno for frame in traceback.extract_tb(fault.__traceback__) if frame.filename == variant.path]
    return f"{variant.path}:{lines[-1]}" if lines else variant.path
