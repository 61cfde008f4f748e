"""The declarations of preprocessed C++ text: where each one is, what it declares, and which names it uses.

The text must not contain macros or conditions. It need not be understood: a declaration ends with a `;` or with the `}`
of a function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gemmbench.planning.cpp.tokens import Places, Token, pair_brackets, read_tokens, skip_angles

ATTRIBUTES = {
    "__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__block_size__", "__align__", "alignas", "__attribute__",
    "__attribute", "__declspec", "decltype", "noexcept", "explicit", "requires", "throw", "catch", "__asm__", "asm",
}  # fmt: skip
"""Words before brackets that do not hold the parameters of a function."""
ON_DEVICE = {"__global__", "__device__"}
_CLASSES = {"struct", "class", "union", "enum"}
_VARIABLES = {"__constant__", "__shared__", "__managed__", "using", "typedef"}
_FOREIGN = {"std", "cuda", "thrust", "torch", "at", "c10"}
_DEEPEST = 100
"""The deepest nesting of scopes."""
_LONGEST = 100
"""The most words between `struct` and the opening brace."""


@dataclass(frozen=True, slots=True)
class Group:
    """Brackets in the head of a declaration: the number of tokens of the head before them, and their content."""

    place: int
    tokens: Sequence[Token]


@dataclass(eq=False)
class Item:
    """One declaration.

    kind: `scope` (a namespace or `extern "C" {}`), `function`, `class`, `directive`, or `other` (variables, aliases)
    tokens: All tokens
    head: The tokens outside its brackets, up to the body
    groups: The round brackets of the head
    body: The braces of a function or a class
    children: The declarations in a scope, in order
    scope: The names of the scopes around it
    """

    kind: str
    tokens: Sequence[Token]
    head: Sequence[Token] = ()
    groups: Sequence[Group] = ()
    body: Sequence[Token] = ()
    children: list[Item] = field(default_factory=list)
    scope: tuple[str, ...] = ()

    @property
    def start(self) -> int:
        """The position in the text where it begins."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """The position in the text where it ends."""
        return self.tokens[-1].end

    @cached_property
    def words(self) -> set[str]:
        """The names and keywords outside the brackets."""
        return {each.text for each in self.head if each.kind == "word"}

    @property
    def is_kernel(self) -> bool:
        """Whether it declares or defines a `__global__` function."""
        return self.kind == "function" and "__global__" in self.words

    @property
    def is_host_code(self) -> bool:
        """Whether it is a function that device code cannot call."""
        return self.kind == "function" and not self.words & (ON_DEVICE | {"constexpr", "consteval"})

    @property
    def is_device_variable(self) -> bool:
        """Whether it is a variable that keeps its value between launches."""
        on_device = self.words & {"__device__", "__managed__"}
        return self.kind == "other" and bool(on_device) and not self.words & {"const", "constexpr", "__constant__"}

    @cached_property
    def function_name(self) -> str:
        """The name of a function; `operator` for any operator; "" if it is not a function."""
        return _find_parameters(self.head, self.groups)[0] if self.kind == "function" else ""

    @cached_property
    def parameter_list(self) -> Sequence[Token]:
        """The parameters of a function, without the brackets around them."""
        return _find_parameters(self.head, self.groups)[1][1:-1] if self.kind == "function" else ()

    @cached_property
    def names(self) -> set[str]:
        """The names that it declares."""
        return _collect_names(self)

    @cached_property
    def uses(self) -> dict[str, set[str]]:
        """The names that it uses, each with the words before its `::`."""
        return _collect_uses(self)


class _Tokens:
    """Tokens and the pairs of brackets among them."""

    def __init__(self, tokens: Sequence[Token]):
        self.all, self.pairs = tokens, pair_brackets(tokens)


class Source:
    """A preprocessed text: its declarations at namespace scope in order, and the places of its lines.

    The declarations in a namespace are its children.
    """

    def __init__(self, text: str):
        self.text = text
        tokens = read_tokens(text)
        self.places = Places(text, tokens)
        self.items = _read_items(_Tokens(tokens), 0, len(tokens), 0)
        _note_scopes(self.items, ())

    def walk(self) -> Iterator[Item]:
        """Yield all declarations in order, each scope before its content."""
        return walk(self.items)


def walk(items: Iterable[Item]) -> Iterator[Item]:
    """Yield all declarations in order, each scope before its content."""
    for item in items:
        yield item
        yield from walk(item.children)


def read_members(item: Item) -> Iterator[Item]:
    """Yield the declarations in a class in order."""
    tokens = [each for each in item.body[1:-1] if each.kind != "directive"]
    source, index = _Tokens(tokens), 0
    while index < len(tokens):
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if tokens[index].text in ("public", "private", "protected") and following == ":":
            index += 2
        elif tokens[index].is_sign(";", "}"):
            index += 1
        else:
            member, index = _read_item(source, index, len(tokens), _DEEPEST)
            yield member


def _note_scopes(items: Sequence[Item], scope: tuple[str, ...]) -> None:
    for item in items:
        item.scope = scope
        _note_scopes(item.children, (*scope, *_name_scope(item)))


def _name_scope(item: Item) -> list[str]:
    """Return the names of a namespace; none for an anonymous namespace and for `extern "C"`."""
    return [
        each.text for each in item.head if each.kind == "word" and each.text not in ("namespace", "inline", "extern")
    ]


def _read_items(source: _Tokens, at: int, end: int, depth: int) -> list[Item]:
    tokens, items = source.all, list[Item]()
    while at < end:
        if tokens[at].kind == "directive":
            items.append(Item("directive", tokens[at : at + 1]))
            at += 1
        elif tokens[at].is_sign(";", "}"):  # one that closes nothing
            at += 1
        else:
            item, at = _read_item(source, at, end, depth)
            items.append(item)
    return items


def _read_item(source: _Tokens, start: int, end: int, depth: int) -> tuple[Item, int]:
    """Read the declaration that begins at `start`. Returns it and the index after it. `depth` scopes are around it."""
    tokens, pairs = source.all, source.pairs
    head: list[Token] = []
    groups: list[Group] = []
    kind, body, index = "other", tokens[:0], start
    assigned = initialising = False  # after a `=`; after the `:` of a constructor
    angles = True  # whether a `<` may open arguments: one that nothing closes is an operator, and so are those after it
    while index < end:
        token = tokens[index]
        if token.kind == "directive":
            index += 1
            continue
        if angles and token.text == "template" and index + 1 < end and tokens[index + 1].is_sign("<"):
            after = skip_angles(tokens, pairs, index + 1)
            index, angles = after, after > index + 2
            continue
        if token.is_sign("{"):
            close = min(pairs[index], end - 1)
            if _opens_scope(head) and depth < _DEEPEST:
                children = _read_items(source, index + 1, close, depth + 1)
                return Item("scope", tokens[start : close + 1], head, children=children), close + 1
            if assigned:
                pass
            elif kind == "other" and _is_class(head, groups):
                kind, body = "class", tokens[index : close + 1]
            elif groups and not (initialising and (tokens[index - 1].kind == "word" or tokens[index - 1].text == ">")):
                stop = close + 1
                if stop < end and tokens[stop].text == "catch":  # of a function that is one `try`
                    index = stop
                    continue
                return Item("function", tokens[start:stop], head, groups, tokens[index:stop]), stop
            head.append(token)
            index = close + 1
            continue
        if token.is_sign("}"):  # of the scope, after a declaration that lacks its `;`
            index = max(index, start + 1)
            break
        is_name = bool(head) and head[-1].kind == "word" and head[-1].text != "operator"
        if angles and is_name and not assigned and token.is_sign("<"):
            head.append(token)  # the arguments of a template declare nothing
            after = skip_angles(tokens, pairs, index)
            index, angles = after, after > index + 1
            continue
        if token.is_sign("(", "["):
            close = min(pairs[index], end - 1)
            if token.text == "(" and not assigned:
                groups.append(Group(len(head), tokens[index : close + 1]))
            head.append(token)
            index = close + 1
            continue
        index += 1
        if token.is_sign(";"):
            break
        assigned = assigned or (token.is_sign("=") and "operator" not in [each.text for each in head[-2:]])
        initialising = initialising or (token.is_sign(":") and bool(groups))
        head.append(token)
    if kind == "other" and not assigned and _is_declaration_of_function(head, groups):
        kind = "function"
    return Item(kind, tokens[start:index], head, groups, body), index


def _opens_scope(head: Sequence[Token]) -> bool:
    words = [each.text for each in head[:2]]
    return "namespace" in words or (words[:1] == ["extern"] and head[-1].kind == "string")


def _is_class(head: Sequence[Token], groups: Sequence[Group]) -> bool:
    if not any(each.text in _CLASSES for each in head[-_LONGEST:]):
        return False
    words = [each.text for each in head]
    only_attributes = all(group.place and words[group.place - 1] in ATTRIBUTES for group in groups)
    return only_attributes or words[0] == "typedef"


def _is_declaration_of_function(head: Sequence[Token], groups: Sequence[Group]) -> bool:
    words = [each.text for each in head]
    name, _ = _find_parameters(head, groups)
    guides = bool(name) and "->" in words and words[0] in (name, "explicit")  # Tile(T) -> Tile<T>;
    return bool(name) and not guides and not set(words) & _VARIABLES


def _find_parameters(head: Sequence[Token], groups: Sequence[Group]) -> tuple[str, Sequence[Token]]:
    """Return the name before the parameters, and the parameters with their brackets.

    They are the last brackets outside attributes, because macros from a missing header may come before them.
    """
    name, parameters = "", head[:0]
    for group in groups:
        before = group.place - 1
        if before >= 1 and head[before].is_sign("<"):  # the arguments of a specialisation
            before -= 1
        if before < 0:
            continue
        if "operator" in [each.text for each in head[max(0, before - 4) : before + 1]]:
            name, parameters = "operator", group.tokens
        elif head[before].kind == "word" and head[before].text not in ATTRIBUTES:
            if any(each.is_sign(":") for each in head[:before]) and name:
                break  # the initialisers of a constructor
            name, parameters = head[before].text, group.tokens
    return name, parameters


def _collect_names(item: Item) -> set[str]:
    if item.kind in ("directive", "scope"):
        return set()
    words = [each.text for each in item.head]
    if words[:2] == ["using", "namespace"]:
        return set()
    names: set[str] = set()
    if item.kind == "class":
        names |= _name_class(item.head)
        if "enum" in words:
            names |= {each.text for each in item.body if each.kind == "word"}
    if item.function_name:
        names.add(item.function_name)
    value = False
    for index, token in enumerate(item.head):
        following = words[index + 1] if index + 1 < len(words) else ";"
        value = (value or token.text == "=") and token.text != ","
        if token.kind == "word" and not value and token.text not in ATTRIBUTES and following in ",;=[({":
            names.add(token.text)
        if token.kind == "word" and following == "::":
            names.add(token.text)  # the class of a member that is defined outside it
    if "typedef" in words and item.kind != "class":  # of a pointer to a function
        names |= {
            name.text
            for group in item.groups
            for star, name in zip(group.tokens, group.tokens[1:], strict=False)
            if star.text == "*" and name.kind == "word"
        }
    return names


def _name_class(head: Sequence[Token]) -> set[str]:
    place = max(index for index, each in enumerate(head) if each.text in _CLASSES)
    for index in range(place + 1, len(head)):
        token = head[index]
        if token.is_sign(":", "<") or token.text == "final":
            break
        if token.kind == "word" and token.text not in ATTRIBUTES:
            return {token.text}
    return set()


def _collect_uses(item: Item) -> dict[str, set[str]]:
    own = item.parameter_list if item.body else ()
    parameters = {
        name.text
        for name, after in zip(own, [*own[1:], None], strict=False)
        if name.kind == "word" and (after is None or after.is_sign(",", "=", "["))
    }
    uses: dict[str, set[str]] = {}
    tokens = [each for each in item.tokens if each.kind != "directive"]
    for index, token in enumerate(tokens):
        if token.kind != "word" or token.text in parameters:
            continue
        before = tokens[index - 1].text if index else ""
        scope = tokens[index - 2] if before == "::" and index > 1 else None
        if before not in (".", "->") and not (scope and scope.text in _FOREIGN):
            qualifier = scope.text if scope and scope.kind == "word" else ""
            uses.setdefault(token.text, set()).add(qualifier)
    name = item.function_name
    if name and sum(each.text == name for each in tokens) == 1:  # it calls no other function of its name
        uses.pop(name, None)
    return uses
