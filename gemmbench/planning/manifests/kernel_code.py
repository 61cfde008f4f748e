"""Finds what the code of a kernel defines: symbols in C++ text, and the function of a Python module."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.errors import SpecError, nearest
from gemmbench.planning.yaml_document import Document

# A pattern that begins with plain letters, without \b, is found many times faster.
_GLOBAL = re.compile(r"__global__\b")
_EXTERN = re.compile(r'extern\s+"C"\s')
_STANDARD = re.compile(r"\b(\w+)\s*\(\s*(?:const\s+)?int\b")
_KERNEL = re.compile(r"\b(\w+)\s*\((?!\s*\d)")
_NAMED = re.compile(r"\b(\w+)\s*\(")
_HEAD_END = re.compile(r"[;{}]")
_BOUNDS = re.compile(r"__(?:launch_bounds|cluster_dims|maxnreg)__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")
_QUOTED_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_LOCAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"|<[^>\n]*\.cuh?>)', re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)


def list_standard_kernels(text: str, host: bool) -> list[str]:
    """Return the kernels whose first argument is an int or, with `host`, the `extern "C"` functions."""
    return _find_names(text, [_EXTERN] if host else [_GLOBAL], _STANDARD)


def list_kernels(text: str) -> list[str]:
    """Return the names of all `__global__` functions, mangled or not."""
    return list(dict.fromkeys(_find_names(_BOUNDS.sub(" ", text), [_GLOBAL], _KERNEL)))


def is_unmangled(text: str, name: str) -> bool:
    """Return whether a kernel is declared `extern "C"`, so that its name is the same in machine code."""
    return name in _find_names(_BOUNDS.sub(" ", text), [_EXTERN, _GLOBAL], _NAMED)


def _find_names(text: str, words: Sequence[re.Pattern[str]], pattern: re.Pattern[str]) -> list[str]:
    """Return the names that `pattern` finds in function heads after `words` in this order.

    This takes time linear in the text. A single pattern would read the rest of a head again for every word.
    """
    names, place, end = [], 0, 0
    while first := words[0].search(text, place):
        place = first.end()
        if place > end:
            stop = _HEAD_END.search(text, place)
            end = stop.start() if stop else len(text)
        found: re.Match[str] | None = first
        for step in (*words[1:], pattern):
            found = found and step.search(text, found.end(), end)
        if found:
            names.append(found[1])
        place = found.end() if found else end
    return names


def list_quoted_includes(text: str) -> list[str]:
    """Return the file names in `#include "name"`."""
    return _QUOTED_INCLUDE.findall(text)


def has_includes(text: str) -> bool:
    """Return whether a text may include a file next to it."""
    return _LOCAL_INCLUDE.search(text) is not None


def may_define(text: str, name: str) -> bool:
    """Return whether a macro may make a kernel of this name: the name is in its code or is pasted together."""
    code = _COMMENT.sub(" ", text)
    return "#define" in code and ("##" in code or re.search(rf"\b{re.escape(name)}\b", code) is not None)


def split_template(symbol: str) -> tuple[str, Sequence[str]]:
    """Split `name<BM, pair<int, 2>>` into the name and its template arguments."""
    name, opened, rest = symbol.strip().partition("<")
    if not opened:
        return name, ()
    parts, depth = [""], 0
    for letter in rest.rstrip()[:-1]:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return name.strip(), tuple(part.strip() for part in parts)


FUNCTION = "gemm"
ARGUMENTS = ("problem", "A", "B", "C", "stream")
"""The arguments with which `gemm` is called. Its parameters follow, passed by name."""


@dataclass(frozen=True)
class PythonModule:
    """The manifest of a module, which begins on line `first_line`, and the module's syntax tree."""

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
