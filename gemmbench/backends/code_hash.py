"""Hashes the code of a row: the compiled text, and what its manifest says about the launch.

Texts that differ only in comments and white space have the same hash. The text is split into tokens the way a compiler
would, but no compiler is needed.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path

from gemmbench.backends.sources import read_whole_text
from gemmbench.planning.manifests.expressions import Expression
from gemmbench.planning.manifests.variant import Pick, PythonCall, Variant

# Only operators that could be mistaken for two operators with a space between them are listed. An unclosed comment or
# string ends with the text or the line, so no part of it is read twice.
_TOKEN = re.compile(
    r"""
      (?P<space> (?: \s | \\\r?\n | //(?:\\\r?\n|[^\n])* | /\*.*?(?:\*/|\Z) )+ )
    | (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z)
    | (?:u8|[uUL])?(?: "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n]){0,12}' )
    | \.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*
    | \w+ | \+\+ | -- | && | :: | .
    """,
    re.DOTALL | re.VERBOSE,
)
_NO_SPACE = re.compile(r"\\\r?\n|//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_HASH_DIGITS = 16
_LONG_INTEGER = 64
"""Bits."""


def hash_code(variant: Variant, values: Iterable[tuple[str, int]] = ()) -> str:
    """Return a hash of a variant's code with these parameter values; "" for a library.

    The hash covers local headers but not comments, white space or the location of the file. For a variant with a
    `pick`, it covers all rows of the `pick` and the constants fitted for cards. In the results, a row has the hash of
    the variant that was picked.
    """
    if variant.is_library:
        return ""
    if variant.picks:
        fitted = tuple((each.card, each.text) for each in variant.costs)
        return _hash_parts(_write_value((tuple(map(_list_facts, variant.picks)), fitted)))
    called = (variant.launches, variant.workspace, variant.zeroed, variant.state, variant.tensor_maps, variant.call)
    code = variant.code
    compiled = (variant.kind, variant.arch, variant.epilogue, code.defines, code.flags, code.maxregcount)
    text = _hash_text(read_whole_text(variant), variant.is_python)
    python = () if variant.python == PythonCall() else (variant.python,)
    return _hash_parts(text, _write_value((called, compiled, tuple(sorted(values)), *python)))


def hash_file(path: Path) -> str:
    """Return a hash of a kernel file without a manifest, or "" if the file does not exist."""
    return _hash_text(path.read_text(encoding="utf-8"), False) if path.is_file() else ""


def _list_facts(pick: Pick) -> tuple[object, ...]:
    """Return the condition, parameters and code of one row of a `pick`."""
    code = hash_code(pick.code, {**pick.code.default(), **dict(pick.params)}.items()) if pick.code else pick.variant
    return pick.when, pick.params, pick.costs, pick.estimate, pick.region, code


def _hash_parts(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()[:_HASH_DIGITS]


def _write_value(value: object) -> str:
    """Return a manifest value as text, without its line numbers."""
    if isinstance(value, Expression):
        return _hash_expression(value)
    if isinstance(value, str):
        return repr(" ".join(_list_tokens(value)))
    if isinstance(value, tuple):
        return f"({', '.join(map(_write_value, value))})"
    if is_dataclass(value):
        return _write_value(tuple(getattr(value, each.name) for each in fields(value) if each.compare))
    return repr(value)


@lru_cache(maxsize=4096)
def _hash_expression(expression: Expression) -> str:
    """Return a hash instead of the text, because named expressions can contain each other."""
    return _hash_parts(_write_value((expression.text, *expression.lets)))


@lru_cache(maxsize=256)
def _hash_text(text: str, is_python: bool) -> str:
    """Return a hash of a text that ignores comments and white space."""
    if not is_python:
        return _hash_parts("\0".join(_list_tokens(text)))
    module = ast.parse(text)
    documented = ast.get_docstring(module, clean=False) is not None  # the docstring may be the manifest
    return _hash_parts(_write_tree(module.body[documented:]))


def _list_tokens(text: str) -> list[str]:
    """Return the tokens of a C++ text. Preprocessor lines are put between newlines, and `#line` is left out."""
    tokens: list[str] = []
    line: list[str] | None = None  # of the preprocessor
    first, spaced = True, False
    for found in _TOKEN.finditer(text + "\n"):
        token = found[0]
        if found["space"]:
            spaced = True
            if "\n" in _NO_SPACE.sub("", token):
                tokens += ["\n", *line, "\n"] if line and line[1:2] != ["line"] else []
                first, line = True, None
            continue
        if first and token == "#":
            line = []
        if line is None:
            tokens.append(token)
        else:  # a parenthesis right after the name of a macro begins its arguments
            line.append(
                f"{line[2]}(" if token == "(" and line[1:2] == ["define"] and len(line) == 3 and not spaced else token
            )
        first = spaced = False
    return tokens


def _write_tree(node: object) -> str:
    """Return a Python syntax tree as text. Python versions differ only in empty fields, which are left out."""
    if isinstance(node, list):
        return f"[{', '.join(map(_write_tree, node))}]"
    if isinstance(node, int) and node.bit_length() > _LONG_INTEGER:
        return hex(node)  # Python refuses to write more than 4,300 decimal digits
    if not isinstance(node, ast.AST):
        return repr(node)
    named = [(name, getattr(node, name, None)) for name in node._fields]
    written = [f"{name}={_write_tree(each)}" for name, each in named if each not in (None, [])]
    return f"{type(node).__name__}({', '.join(written)})"
