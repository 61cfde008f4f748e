"""The kernels of preprocessed C++ text: their parameters with aliases resolved, and the fields of classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from gemmbench.planning.cpp.items import Item, Source, read_members
from gemmbench.planning.cpp.tokens import Token, pair_brackets, read_tokens, skip_angles, split_commas

_QUALIFIERS = {
    "const", "volatile", "restrict", "__restrict__", "__restrict", "__grid_constant__", "struct", "class", "typename",
    "register", "constexpr", "static", "inline", "mutable", "alignas", "__align__", "__device__", "__host__", "enum",
}  # fmt: skip
_SPELLINGS = {
    "int": "int, signed, signed int, int32_t",
    "unsigned": "unsigned, unsigned int, uint, uint32_t",
    "long": "long, long int, signed long, long long, long long int, int64_t, ptrdiff_t, ssize_t",
    "size_t": "size_t, uint64_t, unsigned long, unsigned long int, unsigned long long, unsigned long long int, ulong",
    "short": "short, short int, int16_t",
    "ushort": "ushort, unsigned short, unsigned short int, uint16_t",
    "bool": "bool",
    "char": "char, signed char, int8_t",
    "uchar": "uchar, unsigned char, uint8_t",
    "float": "float",
    "double": "double",
    "half": "half, __half",
    "bfloat16": "__nv_bfloat16, nv_bfloat16",
    "e4m3": "__nv_fp8_e4m3",
    "e5m2": "__nv_fp8_e5m2",
    "half2": "half2, __half2",
    "bfloat162": "__nv_bfloat162, nv_bfloat162",
    "void": "void",
}
_BUILTIN = {word.strip(): name for name, words in _SPELLINGS.items() for word in words.split(",")}
_DEEPEST = 10
"""The longest chain of aliases."""


@dataclass(frozen=True)
class Parameter:
    """A parameter, or a field of a class.

    `type` has one spelling for each type: int, unsigned, long (8 bytes), size_t, short, ushort, bool, char, uchar,
    float, double, half, bfloat16, e4m3, e5m2, half2, bfloat162 or void. Otherwise it is a class, a vector such as
    float4, or a parameter of the template. `stars` counts pointers and arrays, including those hidden by an alias.
    `const` refers to what the pointer points to.
    """

    name: str
    type: str
    stars: int = 0
    const: bool = False


@dataclass(frozen=True)
class TemplateParameter:
    """A parameter of a template. `default` is "" if there is none."""

    name: str
    default: str = ""
    is_type: bool = False


@dataclass(frozen=True)
class Kernel:
    """A `__global__` function with a body. `symbol` includes the namespaces. `place` is its file and line."""

    name: str
    symbol: str
    template: tuple[TemplateParameter, ...]
    parameters: tuple[Parameter, ...]
    place: tuple[str, int]
    item: Item = field(repr=False, compare=False)


class Signatures:
    """What the declarations of a text say about types and kernels."""

    def __init__(self, source: Source):
        self._source = source
        self._aliases: dict[str, list[Token]] = {}
        self._classes: dict[str, Item] = {}
        for item in source.walk():
            self._note(item)
        self.kernels = [self._read_kernel(item) for item in source.walk() if item.is_kernel and item.body]

    def _note(self, item: Item, owner: str = "") -> None:
        """Record a class or an alias. An alias in the class `owner` is recorded under both names."""
        tokens = [each for each in item.tokens if each.kind != "directive"]
        words = [each.text for each in tokens]
        if item.kind == "class" and not owner:
            for name in item.names:
                self._classes.setdefault(name, item)
                for member in read_members(item):
                    self._note(member, f"{name}::")
        elif words[:1] == ["using"] and words[2:3] == ["="]:
            self._aliases[owner + words[1]] = tokens[3 : -1 if words[-1] == ";" else None]
        elif words[:1] == ["typedef"] and len(words) > 2 and not item.groups:
            declared = tokens[1 : -1 if words[-1] == ";" else None]
            first, *others = split_commas(declared)
            for part in (first, *others):
                stars = [token for token in part[:-1] if token.is_sign("*")] if part is not first else []
                base = [token for token in first[:-1] if not token.is_sign("*")]
                self._aliases[owner + part[-1].text] = first[:-1] if part is first else [*base, *stars]

    def _read_kernel(self, item: Item) -> Kernel:
        tokens = [each for each in item.tokens if each.kind != "directive"]
        template = _read_template(tokens)
        types = {each.name for each in template if each.is_type}
        parts = split_commas([each for each in item.parameter_list if each.kind != "directive"])
        parameters = [self.read_parameter(part, types) for part in parts if [each.text for each in part] != ["void"]]
        symbol = "::".join((*item.scope, item.function_name))
        place = self._source.places.find(item.start)
        return Kernel(item.function_name, symbol, template, tuple(parameters), place, item)

    def read_parameter(
        self, tokens: Sequence[Token], types: AbstractSet[str] = frozenset(), owner: str = ""
    ) -> Parameter:
        """Read one declaration of a type and, unless it is missing, a name. `types` are names that may be any type.

        `owner` is the class that contains the declaration.
        """
        words = [each.text for each in tokens]
        tokens = tokens[: words.index("=")] if "=" in words else tokens
        named, stars = _split_declaration(tokens)
        whole = " ".join(named)
        name = "" if len(named) < 2 or whole in _BUILTIN or named[-1] in _BUILTIN else named.pop()
        kind, hidden = self.resolve(" ".join(named), types, owner)
        pointee = words[: words.index("*")] if "*" in words else words
        return Parameter(name, kind, stars + hidden, "const" in pointee)

    def resolve(self, kind: str, types: AbstractSet[str] = frozenset(), owner: str = "") -> tuple[str, int]:
        """Return the type behind aliases, including aliases of the class `owner`, and the number of stars they hide."""
        stars = 0
        for _ in range(_DEEPEST):
            plain = kind.removeprefix("::").removeprefix("std::")
            alias = next((each for each in _list_names(plain, owner) if each in self._aliases), None)
            if kind in types or plain in _BUILTIN or alias is None:
                return kind if kind in types else _BUILTIN.get(plain, plain), stars
            named, more = _split_declaration(self._aliases[alias])
            owner = alias.rpartition("::")[0] or owner
            kind, stars = " ".join(named), stars + more
        return kind, stars

    def list_fields(self, kind: str) -> list[Parameter] | None:
        """Return the data members of a class or of a template such as `Tile<float>`; None if there is no such class."""
        named, _, arguments = kind.partition("<")
        name = named.rpartition("::")[2]
        item = self._classes.get(name)
        if item is None:
            return None
        template = _read_template(item.tokens)
        given = ["".join(each.text for each in part) for part in split_commas(read_tokens(arguments.removesuffix(">")))]
        values = dict(zip((each.name for each in template), given, strict=False))
        values = {each.name: values.get(each.name, each.default) for each in template if each.is_type}
        fields = [each for member in read_members(item) for each in self._read_fields(member, name, values.keys())]
        return [self._fill_in(each, values) for each in fields]

    def _fill_in(self, each: Parameter, values: Mapping[str, str]) -> Parameter:
        """Return a field with its type filled in if that is a parameter of its class template."""
        if each.type not in values:
            return each
        kind, stars = self.resolve(values[each.type])
        return replace(each, type=kind, stars=each.stars + stars)

    def _read_fields(self, member: Item, owner: str, types: AbstractSet[str]) -> Iterator[Parameter]:
        """Yield the fields in a declaration such as `float *a, b`. `types` are parameters of a template."""
        if member.kind != "other" or member.words & {"static", "using", "typedef", "friend"}:
            return
        first, *others = split_commas([each for each in member.tokens if not each.is_sign(";")])
        known = self.read_parameter(first, types, owner)
        yield known
        for part in others:
            named, stars = _split_declaration(part)
            yield Parameter(named[-1], known.type, stars, known.const)


def _list_names(kind: str, owner: str) -> list[str]:
    """Return the names under which a type may be recorded: with its class, or its last one or two names."""
    *scopes, last = kind.split("::")
    return [*([f"{owner}::{last}"] if owner and not scopes else []), "::".join([*scopes[-1:], last]), last]


def _read_template(tokens: Sequence[Token]) -> tuple[TemplateParameter, ...]:
    """Return the template parameters of a declaration; none if it is not a template."""
    tokens = [each for each in tokens if each.kind != "directive"]
    if not tokens or tokens[0].text != "template":
        return ()
    inside = tokens[2 : skip_angles(tokens, pair_brackets(tokens), 1) - 1]
    return tuple(_read_template_parameter(part) for part in split_commas(inside))


def _read_template_parameter(part: Sequence[Token]) -> TemplateParameter:
    words = [each.text for each in part]
    cut = words.index("=") if "=" in words else len(words)
    names = [each.text for each in part[:cut] if each.kind == "word"]
    is_type = bool({"typename", "class"} & set(words[:cut]))
    return TemplateParameter(names[-1] if names else "", " ".join(words[cut + 1 :]), is_type)


def _split_declaration(tokens: Sequence[Token]) -> tuple[list[str], int]:
    """Return the names in a declaration, the scopes and template arguments of its type, and its stars."""
    pairs, named = pair_brackets(tokens), list[str]()
    stars, index, is_array = 0, 0, False
    while index < len(tokens):
        token, end = tokens[index], index + 1
        if token.is_sign("["):  # `a[8][8]` is one pointer, to rows
            stars, is_array = stars + (not is_array), True
            end = pairs[index] + 1
        elif token.is_sign("("):
            end = pairs[index] + 1
        elif token.is_sign("*"):
            stars += 1
        elif token.is_sign("<") and named:
            end = skip_angles(tokens, pairs, index)
            named[-1] += "".join(each.text for each in tokens[index:end])
        elif token.is_sign("::") and index + 1 < len(tokens):
            named[-1:] = [f"{named[-1] if named else ''}::{tokens[index + 1].text}"]
            end = index + 2
        elif token.kind == "word" and token.text not in _QUALIFIERS:
            named.append(token.text)
        index = end
    return named, stars
