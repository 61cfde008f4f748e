"""Scans C++ text, without comments and strings, for brackets and named expressions.

This is not a compiler. It reads code that is written in the usual way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from gemmbench.planning.manifests.expressions import ExpressionError, parse

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
# An unclosed comment or string ends with the text or the line, so no part of it is read twice. An apostrophe may
# separate digits, so a character literal has few letters.
_HIDDEN = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n]){1,12}'",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)


def hide_comments(text: str) -> str:
    """Replace comments, strings and characters by spaces. Every other character keeps its position."""
    return _HIDDEN.sub(_blank, text)


def hide_directives(text: str) -> str:
    """Replace the lines of the preprocessor by spaces."""
    return _DIRECTIVE.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def find_end(text: str, start: int) -> int:
    """Return the index after the bracket that closes the one at `start`, or the end of the text if none does."""
    opening, closing = text[start], _CLOSING[text[start]]
    depth = 0
    for index in range(start, len(text)):
        if text[index] == opening:
            depth += 1
        elif text[index] == closing:
            depth -= 1
            if depth == 0:
                return index + 1
    return len(text)


def split_list(text: str) -> list[str]:
    """Return the items of a list, split at the commas outside brackets."""
    items, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            items.append(text[start:index].strip())
            start = index + 1
    last = text[start:].strip()
    return [*items, last] if last or items else []


def list_blocks(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the start, opening brace and end of every definition outside functions and classes.

    The contents of namespaces and of `extern "C"` blocks count as outside.
    """
    start = index = 0
    while index < len(text):
        char = text[index]
        if char in ";}":
            start = index + 1
        elif char == "{":
            head = text[max(start, text.rfind("(", start, index) + 1, text.rfind(")", start, index) + 1) : index]
            if re.search(r"\bnamespace\b|\bextern\s*$", head):
                start = index + 1
            else:
                end = find_end(text, index)
                yield start, index, end
                start = index = end
                continue
        index += 1


_CONSTANT = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\S[^\n]*)$"
    r"|\bconst(?:expr)?\s+(?:\w+\s+){0,6}?(\w+)\s*(?:=([^;{}]{1,500});|\{([^;{}]{1,500})\})",
    re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z_]\w*(?:\.[xyz]\b)?")
_ROUNDED_UP = "ceil_?div|div_?ceil|cdiv|div_?up|i_?div_?up|ceiling_?div|div_?round_?up|round_?up_?div"
_DEEPEST, _LONGEST = 8, 500
_MOST_CONSTANTS = 1000


def read_constants(text: str) -> dict[str, str]:
    """Return the expressions that a text defines as macros or constants, by name.

    Only the first thousand definitions are read. The last definition of a name counts.
    """
    found = (match.groups() for match in islice(_CONSTANT.finditer(text), _MOST_CONSTANTS))
    return {macro or name: (value or assigned or braced).strip() for macro, value, name, assigned, braced in found}


def translate_to_number(text: str, known: Mapping[str, int], constants: Mapping[str, str]) -> int | None:
    """Return the value of a C++ expression over names with known values; None if it needs other names."""
    written = translate(text, {}, known, constants)
    try:
        return None if written is None else parse(written, known).value(known)
    except ExpressionError:
        return None


def translate(
    text: str, names: Mapping[str, str], known: Collection[str], constants: Mapping[str, str] = MappingProxyType({})
) -> str | None:
    """Translate a C++ expression into one of a manifest over the names `known`; None if it needs other names.

    `names` maps words of the C++ text to their names in the manifest.
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
    """Return the value of a C++ expression over constants; None if it needs anything else."""
    expression = translate(text, {}, (), constants)
    try:
        return None if expression is None else parse(expression).value({})
    except ExpressionError:
        return None


def _format(expression: str) -> str:
    """Return the expression with the usual spaces and without unnecessary brackets."""
    return ast.unparse(ast.parse(expression, mode="eval"))


def _insert_constant(word: str, constants: Mapping[str, str]) -> str:
    if word not in constants:
        return word
    value = constants[word]
    return value if re.fullmatch(r"\w+", value) else f"({value})"


def _simplify(text: str) -> str:
    """Return the expression without casts and suffixes, and with the functions and operators of a manifest."""
    text = re.sub(r"\bstatic_cast\s*<[^<>]*>|\((?:unsigned|int|size_t|unsigned int|uint)\)", "", text)
    text = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", " ".join(text.split()))
    text = re.sub(rf"\b(?:\w+::)?(?:{_ROUNDED_UP})\s*\(", "cdiv(", text, flags=re.IGNORECASE)
    text = re.sub(r"\(\s*\(?(\w+)\)?\s*\+\s*\(?([\w.]+)\)?\s*-\s*1\s*\)\s*/\s*\(?\2(?![\w.])\)?", r"cdiv(\1, \2)", text)
    return re.sub(r"(?<!/)/(?!/)", "//", text)
