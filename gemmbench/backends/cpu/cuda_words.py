"""Rewrites declarations of shared and constant memory for the C++ compiler.

The size of `extern __shared__` memory is known only at launch. Its names therefore become pointers and references to
the runtime's page-aligned buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gemmbench.planning.cpp.items import Item
from gemmbench.planning.cpp.reach import Edit
from gemmbench.planning.cpp.tokens import Token, pair_brackets, split_commas

_SHARED = "__shared__"
_ALIGNMENTS = {"__align__", "alignas", "__attribute__", "__declspec"}
_BUFFER = "gb_dynamic_shared"
_CONSTANT = '__attribute__((section("gb_constant")))'
"""Keeps constants out of shared memory, where shared.ld puts variables without a value.

A constant that the host never sets is zero.
"""


def rewrite_words(items: Sequence[Item]) -> Iterator[Edit]:
    """Yield the edits needed for the declarations of these items."""
    for item in items:
        if item.kind == "other" and not item.words & {"const", "constexpr", "extern"}:
            yield from (Edit(each.start, each.end, _CONSTANT) for each in item.head if each.text == "__constant__")
        tokens = [each for each in item.tokens if each.kind != "directive"]
        for start, end in _find_declarations(tokens):
            words = [each.text for each in tokens[start:end]]
            if "extern" in words:
                new = _declare_dynamic(tokens[start:end])
                yield Edit(tokens[start].start, tokens[end - 1].end, new)
            else:  # `__shared__` becomes `static`, which must not appear twice
                yield from (Edit(each.start, each.end, "") for each in tokens[start:end] if each.text == "static")


def _find_declarations(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the position of each declaration of shared memory, and that of its `;`."""
    begin, number = 0, 0
    while number < len(tokens):
        token = tokens[number]
        if token.is_sign(";", "{", "}"):
            begin = number + 1
        elif token.text == _SHARED:
            end = _find_end(tokens, number)
            yield begin, end
            number, begin = end, end + 1
        number += 1


def _find_end(tokens: Sequence[Token], at: int) -> int:
    depth = 0
    for index in range(at, len(tokens)):
        token = tokens[index]
        depth += token.is_sign("(", "[", "{") - token.is_sign(")", "]", "}")
        if token.is_sign(";") and depth == 0:
            return index
    return len(tokens)


def _declare_dynamic(tokens: Sequence[Token]) -> str:
    """Return the declaration without its `;`."""
    parts = [part for part in split_commas(_drop_attributes(tokens)) if any(each.kind == "word" for each in part)]
    if not parts:
        return ""
    first, *others = parts
    name = next(iter(_find_names(first)), 0)
    kind = first[:name]
    while kind and kind[-1].is_sign("*", "&"):
        kind = kind[:-1]
    written = _write(kind)
    declarators = [first[len(kind) :], *others]
    return "; ".join(_declare(written, each) for each in declarators)


def _drop_attributes(tokens: Sequence[Token]) -> list[Token]:
    pairs, kept, index = pair_brackets(tokens), list[Token](), 0
    while index < len(tokens):
        word = tokens[index].text
        if word in _ALIGNMENTS and index + 1 in pairs:
            index = pairs[index + 1]
        elif word not in (_SHARED, "extern", "static"):
            kept.append(tokens[index])
        index += 1
    return kept


def _find_names(first: Sequence[Token]) -> Iterator[int]:
    """Yield the index of the name in the first declarator, which is the last word outside brackets."""
    pairs, index, found = pair_brackets(first), 0, -1
    while index < len(first):
        if first[index].kind == "word":
            found = index
        index = pairs.get(index, index) + 1
    if found >= 0:
        yield found


def _declare(kind: str, declarator: Sequence[Token]) -> str:
    """Declare one name: as a pointer if its size is not given, otherwise as a reference."""
    number = next(index for index, each in enumerate(declarator) if each.kind == "word")
    stars = "*" * sum(each.is_sign("*") for each in declarator[:number])
    name, brackets = declarator[number].text, declarator[number + 1 :]
    if len(brackets) > 1 and brackets[1].is_sign("]"):
        return f"auto* const {name} = reinterpret_cast<gb::Type<{kind}{stars} {_write(brackets[2:])}>*>({_BUFFER})"
    return f"auto& {name} = *reinterpret_cast<gb::Type<{kind}{stars} {_write(brackets)}>*>({_BUFFER})"


def _write(tokens: Sequence[Token]) -> str:
    return " ".join(each.text for each in tokens)
