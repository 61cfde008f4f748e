"""C++ text without comments and strings, and its brackets. No compiler: it reads what code usually looks like."""

from __future__ import annotations

import re
from collections.abc import Iterator

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_HIDDEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)


def hide_comments(text: str) -> str:
    """The text with spaces for comments, strings and characters; every other character keeps its place."""
    return _HIDDEN.sub(_blank, text)


def hide_directives(text: str) -> str:
    """The text with spaces for the lines of the preprocessor."""
    return _DIRECTIVE.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def find_end(text: str, start: int) -> int:
    """The index after the bracket that closes the one at `start`; the end of the text if none does."""
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
    """The items of a list, split at the commas outside brackets."""
    items, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            items.append(text[start:index].strip())
            start = index + 1
    last = text[start:].strip()
    return [*items, last] if last or items else []


def list_blocks(text: str) -> Iterator[tuple[int, int, int]]:
    """Every definition outside functions and classes: where it starts, its opening brace, and its end.

    The contents of namespaces and of `extern "C"` blocks count as outside.
    """
    start = index = 0
    while index < len(text):
        char = text[index]
        if char in ";}":
            start = index + 1
        elif char == "{":
            if re.search(r"\bnamespace\b[^()]*$|\bextern\s*$", text[start:index]):
                start = index + 1
            else:
                end = find_end(text, index)
                yield start, index, end
                start = index = end
                continue
        index += 1
