"""What nvcc gets for a plan: the text, and the options that depend on the plan."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gemmbench.backends.cuda.compiling.kernel_names import write_tags
from gemmbench.backends.cuda.launchers.source import explain_call_errors, wrap_launcher
from gemmbench.backends.header_packages import list_include_folders, list_package_folders
from gemmbench.backends.source import compiler_text, has_local_headers, split_text
from gemmbench.planning.plans.plan import Plan

_FLAGS = ("-O3", "-std=c++17", "-lineinfo")
_REPLACED = ("-O", "-std=")
"""Beginnings of flags of which nvcc takes only one."""

CUBIN, LAUNCHER = ".cubin", ".so"
"""What becomes of a unit: machine code of kernels, or a shared library with a host function that launches them."""

_SHARED = ("-shared", "-cudart=static", "-Xcompiler", "-fPIC,-fno-gnu-unique", "-Xlinker", "-Bsymbolic")
MODES = {CUBIN: ("-cubin",), LAUNCHER: _SHARED}
"""How to make each kind of file.

A launcher has a runtime of its own, which uses whatever context is current. It shares neither functions nor
static variables with other libraries of the process, such as another configuration of the same code.
"""

Explain = Callable[[str], str]
"""(what nvcc printed) -> why it refused the text, "" if only its own lines say."""


def explain_nothing(output: str) -> str:
    """Leave it to the compiler's own lines."""
    return ""


@dataclass(frozen=True)
class CompilerUnit:
    """A text for nvcc, compiled for `arch` ("90a"); `symbols` are the kernels that are launched.

    `location` is how messages name the file. With `headers` the text may read headers that do not belong
    to the toolkit, found in `folders`. It becomes a file with this `suffix`.
    """

    text: str
    arch: str
    symbols: tuple[str, ...]
    location: str
    flags: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    headers: bool = False
    suffix: str = CUBIN
    explain: Explain = explain_nothing

    @property
    def options(self) -> list[str]:
        """The options for nvcc, without the architecture."""
        kept = [flag for flag in _FLAGS if not any(_replaces(own, flag) for own in self.flags)]
        own = [word for flag in self.flags for word in flag.split()]
        return [*kept, *own, *(f"-I{folder}" for folder in self.folders)]


def write_text(plan: Plan) -> str:
    """The text of a plan that stands alone: local headers are in it. Its first line says how to compile it."""
    unit = make_unit(plan)
    packages = [f"-I{folder}" for folder in list_package_folders(plan.variant)]
    options = [option for option in unit.options if not option.startswith("-I")]
    target = f"-gencode=arch=compute_{unit.arch},code=sm_{unit.arch}"
    command = shlex.join(["nvcc", *MODES[unit.suffix], *options, target, *packages])
    text = f"{split_text(plan, inline=True).join()}{write_tags(plan)}"
    return f"// {command}\n{wrap_launcher(plan, text) if plan.variant.is_launcher else text}"


def _replaces(own: str, flag: str) -> bool:
    return any(own.startswith(start) and flag.startswith(start) for start in _REPLACED)


def make_unit(plan: Plan) -> CompilerUnit:
    """The unit of a plan."""
    variant, code = plan.variant, plan.variant.code
    limit = [f"-maxrregcount={code.maxregcount}"] if code.maxregcount else []
    headers = has_local_headers(variant)
    folders = [Path(code.file).parent, *list_include_folders(variant)] if headers else []
    unit = CompilerUnit(
        compiler_text(plan) + write_tags(plan),
        plan.arch,
        plan.symbols,
        variant.path,
        (*plan.flags, *limit),
        tuple(map(str, folders)),
        headers,
    )
    if not variant.is_launcher:
        return unit
    explain = partial(explain_call_errors, plan)
    return replace(unit, text=wrap_launcher(plan, unit.text), symbols=(), suffix=LAUNCHER, explain=explain)
