"""Expressions that a file gives a name, and C++ expressions as those of a manifest."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from types import MappingProxyType

from gemmbench.planning.manifests.expressions import ExpressionError, parse

_CONSTANT = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\S[^\n]*?)[ \t]*$"
    r"|\bconst(?:expr)?\s+(?:\w+\s+)*?(\w+)\s*(?:=\s*([^;{}]+);|\{([^;{}]+)\})",
    re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z_]\w*(?:\.[xyz]\b)?")
_ROUNDED_UP = "ceil_?div|div_?ceil|cdiv|div_?up|i_?div_?up|ceiling_?div|div_?round_?up|round_?up_?div"
_DEEPEST, _LONGEST = 8, 500


def read_constants(text: str) -> dict[str, str]:
    """The expressions that a text defines as macros or constants, by name; the last definition of a name counts."""
    found = (match.groups() for match in _CONSTANT.finditer(text))
    return {macro or name: (value or assigned or braced) for macro, value, name, assigned, braced in found}


def translate(
    text: str, names: Mapping[str, str], known: Collection[str], constants: Mapping[str, str] = MappingProxyType({})
) -> str | None:
    """A C++ expression as one of a manifest over the names `known`, or None if it needs others.

    `names` are the words of the C++ text that have another name in the manifest.
    """
    for _ in range(_DEEPEST):
        if len(text) > _LONGEST:
            break
        text = _simplify(text)
        written = _WORD.sub(lambda found: names.get(found[0], found[0]), text)
        try:
            return _format(parse(written, known).text)
        except ExpressionError:
            text = _WORD.sub(lambda found: _insert_constant(found[0], constants), text)
    return None


def evaluate(text: str, constants: Mapping[str, str]) -> int | None:
    """The value of a C++ expression over constants, or None."""
    expression = translate(text, {}, (), constants)
    try:
        return None if expression is None else parse(expression).value({})
    except ExpressionError:
        return None


def _format(expression: str) -> str:
    """The expression with the usual spaces and no needless brackets."""
    return ast.unparse(ast.parse(expression, mode="eval"))


def _insert_constant(word: str, constants: Mapping[str, str]) -> str:
    if word not in constants:
        return word
    value = constants[word]
    return value if re.fullmatch(r"\w+", value) else f"({value})"


def _simplify(text: str) -> str:
    """The expression without casts and suffixes, with the functions and operators of a manifest."""
    text = re.sub(r"\bstatic_cast\s*<[^<>]*>|\((?:unsigned|int|size_t|unsigned int|uint)\)", "", text)
    text = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", " ".join(text.split()))
    text = re.sub(rf"\b(?:\w+::)?(?:{_ROUNDED_UP})\s*\(", "cdiv(", text, flags=re.IGNORECASE)
    text = re.sub(r"\(\s*\(?(\w+)\)?\s*\+\s*\(?([\w.]+)\)?\s*-\s*1\s*\)\s*/\s*\(?\2(?![\w.])\)?", r"cdiv(\1, \2)", text)
    return re.sub(r"(?<!/)/(?!/)", "//", text)
