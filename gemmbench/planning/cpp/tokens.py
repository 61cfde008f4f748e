"""The tokens of preprocessed C++ text, its brackets, and the file and line of every position in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<directive>^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
      | (?P<blank>\n|[^\S\n]+|//[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<string>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z)|(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"?)
      | (?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n]){1,16}')
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.]|'\w)*)
      | (?P<word>[A-Za-z_$\x80-\U0010ffff][\w$]*)
      | (?P<sign>::|->|<<<|.)""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_PLACE = re.compile(r'[ \t]*#[ \t]*(?:line[ \t]+)?(\d+)(?:[ \t]+"((?:\\.|[^"\\])*)")?')


class Token(NamedTuple):
    """A token of the text from `start` to `end`. `kind` is directive, string, character, number, word or sign."""

    kind: str
    text: str
    start: int
    end: int

    def is_sign(self, *signs: str) -> bool:
        """Return whether this is one of these operators or brackets, and not a string that looks like one."""
        return self.kind == "sign" and self.text in signs


def read_tokens(text: str) -> list[Token]:
    """Return all tokens except blanks and comments. A preprocessor line is one token."""
    kinds = _TOKEN.groupindex
    found = []
    for each in _TOKEN.finditer(text):
        kind = each.lastgroup or ""
        if kind != "blank":
            found.append(
                Token("string" if kind not in kinds or kind == "mark" else kind, each[0], each.start(), each.end())
            )
    return found


def pair_brackets(tokens: Sequence[Token]) -> dict[int, int]:
    """Map the index of each opening bracket to that of its closing bracket, or of the last token if it has none."""
    pairs: dict[int, int] = {}
    opened: dict[str, list[int]] = {closing: [] for closing in _CLOSING.values()}
    for index, token in enumerate(tokens):
        if token.kind == "sign":
            if token.text in _CLOSING:
                opened[_CLOSING[token.text]].append(index)
            elif opened.get(token.text):
                pairs[opened[token.text].pop()] = index
    return pairs | {index: len(tokens) - 1 for left in opened.values() for index in left}


def skip_angles(tokens: Sequence[Token], pairs: Mapping[int, int], at: int) -> int:
    """Return the index after the `>` that closes the `<` at `at`, or the next index if none does before a `;`."""
    depth, index = 0, at
    while index < len(tokens):
        token = tokens[index]
        if token.kind == "sign":
            depth += {"<": 1, "<<<": 3, ">": -1}.get(token.text, 0)
            if depth <= 0:
                return index + 1
            if token.text == ";":
                break
        index = pairs.get(index, index) + 1
    return at + 1


def split_commas(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the items of a list, split at the commas outside brackets. Empty items are left out."""
    pairs = pair_brackets(tokens)
    part: list[Token] = []
    index = 0
    while index < len(tokens):
        token, end = tokens[index], pairs.get(index, index) + 1
        if token.is_sign("<") and part and part[-1].kind == "word":
            end = skip_angles(tokens, pairs, index)
        if token.is_sign(","):
            yield from [part] if part else []
            part = []
        else:
            part += tokens[index:end]
        index = end
    yield from [part] if part else []


class Places:
    """The file and line of every position in a text with line markers (`# 12 "file.cu"`)."""

    def __init__(self, text: str, tokens: Sequence[Token]):
        self._lines = [found.end() for found in re.finditer("\n", text)]
        self._begins, self._known = [0], [(1, "")]
        for token in tokens:
            if token.kind == "directive" and (found := _PLACE.match(token.text)):
                name = self._known[-1][1] if found[2] is None else re.sub(r"\\(.)", r"\1", found[2])
                self._begins.append(token.end + 1)
                self._known.append((int(found[1]), name))

    def find(self, at: int) -> tuple[str, int]:
        """Return the file, as the text names it, and the line."""
        number = bisect_right(self._begins, at) - 1
        line, name = self._known[number]
        return name, line + bisect_right(self._lines, at) - bisect_right(self._lines, self._begins[number])

    def name(self, at: int) -> str:
        """Return `file.cu:12`, without the folder."""
        file, line = self.find(at)
        return f"{Path(file).name}:{line}" if file else f"line {line}"
