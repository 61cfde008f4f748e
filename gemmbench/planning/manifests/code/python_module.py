"""A Python module that holds a kernel: its docstring is the manifest, and its function `gemm` launches.

The module is only parsed here. It runs where the GPU is.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.errors import SpecError, nearest
from gemmbench.planning.yaml_document import Document

FUNCTION = "gemm"
ARGUMENTS = ("problem", "A", "B", "C", "stream")
"""What `gemm` is called with, before its parameters, which are passed by name."""


@dataclass(frozen=True)
class PythonModule:
    """The manifest of a module, which begins on line `first_line`, and its syntax tree."""

    manifest: str
    first_line: int
    tree: ast.Module


def parse_module(text: str, location: str) -> PythonModule:
    """Find the manifest of a module. Raises SpecError."""
    try:
        tree = ast.parse(text)
    except SyntaxError as fault:
        raise SpecError(location, fault.lineno, f"not valid Python: {fault.msg}") from None
    except (ValueError, RecursionError, MemoryError) as fault:
        raise SpecError(location, None, f"not valid Python: {fault or 'nested too deeply'}") from None
    manifest = ast.get_docstring(tree, clean=False)
    if manifest is None:
        raise SpecError(location, 1, "no manifest: the file must begin with a docstring of YAML lines")
    return PythonModule(manifest, tree.body[0].lineno, tree)


def check_function(module: PythonModule, document: Document, params: Sequence[str]) -> None:
    """Raise SpecError unless the module has a `gemm` that takes these parameters."""
    wanted = f"{FUNCTION}({', '.join(ARGUMENTS)}, **params)"
    functions = {each.name: each for each in module.tree.body if isinstance(each, ast.FunctionDef)}
    if FUNCTION not in functions:
        raise document.error_at((), f"no function `{FUNCTION}`{nearest(FUNCTION, functions)}; define `def {wanted}`")
    function = functions[FUNCTION]
    arguments = function.args
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    if len(positional) < len(ARGUMENTS) and not arguments.vararg:
        taken = ", ".join(positional) or "nothing"
        raise SpecError(document.location, function.lineno, f"`{FUNCTION}` takes {taken}; define `def {wanted}`")
    by_name = [*positional[len(ARGUMENTS) :], *(each.arg for each in arguments.kwonlyargs)]
    for name in params:
        if name not in by_name and not arguments.kwarg:
            message = f"params.{name}: `{FUNCTION}` has no argument {name}{nearest(name, by_name)}; add it, or **params"
            raise document.error_at(("params", name), message)
