"""Extracts the part of a preprocessed text that a kernel needs: the declarations that it refers to by name.

Host functions are never included, not even in classes. If two namespaces declare the same name, only the right
declaration is included. Overloads and specialisations are included together.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from gemmbench.planning.cpp.items import ON_DEVICE, Item, Source, read_members, walk
from gemmbench.planning.cpp.tokens import read_tokens

_VECTOR = re.compile(
    r"(?:u?(?:char|short|int|long|longlong)[1234]|(?:float|double)[1234]|half2?|__half2?|__nv_bfloat16\d?)$"
)
_PRAGMA = re.compile(r"\s*#\s*pragma\b(?!\s+(?:once|gemmbench))")
_KEPT_MEMBERS = ON_DEVICE | {"constexpr", "consteval"}


@dataclass(frozen=True)
class Edit:
    """Text that replaces the text between `start` and `end`."""

    start: int
    end: int
    text: str


def find_reached(source: Source, symbols: Iterable[str]) -> list[Item]:
    """Return kernels and the declarations that they need, nearest first."""
    by_name: dict[str, list[Item]] = {}
    for item in source.walk():
        if item.kind in ("function", "class", "other") and not item.is_host_code:
            for name in item.names:
                by_name.setdefault(name, []).append(item)
    operators = by_name.pop("operator", [])
    wanted = Item("other", read_tokens(" ; ".join(symbols)))
    reached: dict[int, Item] = {}
    words: set[str] = set()
    waiting = deque([wanted])
    while waiting:
        item = waiting.popleft()
        if id(item) not in reached:
            reached[id(item)] = item
            words |= item.uses.keys()
            for name, qualifiers in item.uses.items():
                waiting += _choose(by_name.get(name, ()), qualifiers, item.scope)
        if not waiting:
            waiting += (each for each in operators if id(each) not in reached and _applies(each, words, by_name))
    return list(reached.values())[1:]


def _choose(found: Sequence[Item], qualifiers: Set[str], scope: tuple[str, ...]) -> Sequence[Item]:
    """Return the declarations in the intended namespaces, or all of them if there are none there.

    There may be none because of aliases and argument-dependent lookup.
    """
    if len(found) < 2:
        return found
    meant: list[Item] = []
    for word in qualifiers:
        if word:
            meant += [each for each in found if each.scope[-1:] == (word,) or word in each.names]
        else:  # the innermost scope that has the name
            around = [each for each in found if each.scope == scope[: len(each.scope)]]
            deepest = max((len(each.scope) for each in around), default=0)
            meant += [each for each in around if len(each.scope) == deepest]
    return meant or found


def _applies(operator: Item, words: Set[str], by_name: Mapping[str, object]) -> bool:
    """Return whether an operator belongs to a literal or to a type that is used."""
    named = {each.text for each in operator.tokens if each.kind == "word"}
    literal = any(each.kind == "string" for each in operator.head)
    return literal or any((word in by_name and word in words) or _VECTOR.match(word) for word in named)


def write_reached(source: Source, reached: Iterable[Item], edits: Iterable[Edit] = ()) -> str:
    """Write these declarations in their namespaces and in order, with the file and line of each."""
    return _Writer(source, reached, edits).write()


class _Writer:
    def __init__(self, source: Source, reached: Iterable[Item], edits: Iterable[Edit]):
        self.source = source
        self.kept = {id(item) for item in reached}
        hidden = [
            edit for item in source.walk() if id(item) in self.kept for edit in _hide_host_members(source.text, item)
        ]
        self.edits = sorted([*edits, *hidden], key=lambda edit: edit.start)
        scopes = [item for item in source.walk() if item.kind == "scope" and self.is_kept(item)]
        self.namespaces = {"std", *(each.text for item in scopes for each in item.head if each.kind == "word")}
        self.parts: list[str] = []

    def write(self) -> str:
        self.write_items(self.source.items)
        return "".join(self.parts)

    def is_kept(self, scope: Item) -> bool:
        return any(id(each) in self.kept for each in walk(scope.children))

    def write_items(self, items: Iterable[Item]) -> None:
        for item in items:
            if item.kind == "directive":
                if _PRAGMA.match(item.tokens[0].text):
                    self.copy(item.start, item.end)
            elif item.kind == "scope":
                if self.is_kept(item):
                    opening = next(each for each in item.tokens[len(item.head) :] if each.is_sign("{"))
                    self.copy(item.start, opening.end)
                    self.write_items(item.children)
                    self.parts.append("\n}\n")
            elif id(item) in self.kept or self.is_known_namespace(item):
                self.copy(item.start, item.end)

    def is_known_namespace(self, item: Item) -> bool:
        """Return whether this is a `using namespace` for a namespace in the text."""
        words = [each.text for each in item.head if each.kind == "word"]
        return words[:2] == ["using", "namespace"] and words[-1] in self.namespaces

    def copy(self, start: int, end: int) -> None:
        """Return a part of the text with its edits applied."""
        file, line = self.source.places.find(start)
        quoted = file.replace("\\", r"\\").replace('"', r"\"")
        self.parts.append(f'\n#line {line} "{quoted}"\n')
        for edit in self.edits:
            if start <= edit.start and edit.end <= end:
                self.parts += [self.source.text[start : edit.start], edit.text]
                self.parts.append("\n" * (self.source.text.count("\n", edit.start, edit.end) - edit.text.count("\n")))
                start = edit.end
        self.parts += [self.source.text[start:end], "\n"]


def _hide_host_members(text: str, item: Item) -> Iterable[Edit]:
    """Remove member functions that only the host calls, since their bodies are host code."""
    if item.kind != "class":
        return
    for member in read_members(item):
        if member.kind == "class":
            yield from _hide_host_members(text, member)
        elif member.kind == "function" and member.body and not member.words & _KEPT_MEMBERS:
            yield Edit(member.start, member.end, ";")
