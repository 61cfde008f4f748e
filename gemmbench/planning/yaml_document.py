"""Reads YAML with line numbers and without its traps.

YAML 1.1 reads `010` as 8, `no` as False, and `1e3` as text. It lets a later key silently replace an earlier one, and in
a flow list it splits `cdiv(N, BN)` at the comma. Here each of these is an error that names the line and the fix.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_args, get_origin

import msgspec
import yaml

from gemmbench.errors import SpecError, UsageError, nearest
from gemmbench.planning.sizes import check_digits

Path = tuple[str | int, ...]
Model = TypeVar("Model", bound=msgspec.Struct)

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_EXPONENT = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MOST_QUOTED = 60
_MOST_NODES = 20_000
_LONGEST = 50_000  # libyaml crashes on very deep nesting


@dataclass
class Document:
    """Plain data, the line of every path in it, and the name of the file it came from."""

    location: str
    data: Any
    lines: dict[Path, int]

    def line(self, path: Path) -> int:
        """Return the line of `path`, or that of the nearest key around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def error_at(self, path: Path, message: str) -> SpecError:
        """Make an error at the line of `path`."""
        return SpecError(self.location, self.line(path), message)

    def convert(self, model: type[Model]) -> Model:
        """Convert the data to a msgspec struct. Raises SpecError at the line of a fault."""
        try:
            return msgspec.convert(_complete_lists(self.data, model), model, strict=True)
        except msgspec.ValidationError as fault:
            message, _, where = str(fault).partition(" - at `$")
            path = _parse_path(where.rstrip("`"))
            inside = _find_model(model, path)
            if unknown := re.match(r"Object contains unknown field `(.+)`", message):
                message, path = _describe_unknown_key(unknown[1], inside), (*path, unknown[1])
            elif missing := re.match(r"Object missing required field `(.+)`", message):
                message = f"missing key `{missing[1]}`"
            elif message.startswith("Expected") and (form := _describe_form(model, path)):
                message, path = f"{_quote_value(self.data, path)} does not fit; give {form}", path[:1]
            elif message.startswith("Invalid enum value"):
                message += _list_known(inside, path[-1])
            name = "".join(f" item {step + 1}" if isinstance(step, int) else f".{step}" for step in path)[1:]
            message = _TYPES.sub(_describe_types, message)
            if message.endswith("whole number, not a number"):
                message = message.removesuffix("a number") + f"{_quote_value(self.data, path)}; write one such as 8"
            raise self.error_at(path, f"{name}: {message}" if name and not unknown else message) from None


_TYPES = re.compile(r"^Expected `([a-z| ]+)`(?:, got `([a-z]+)`)?$")
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "`true` or `false`",
    "array": "a list",
    "object": "`key: value` lines",
    "null": "nothing",
}


def _describe_types(found: re.Match[str]) -> str:
    """Say in words which types are expected, and which one there is."""
    wanted = " or ".join(_WORDS.get(name, name) for name in found[1].split(" | "))
    return f"should be {wanted}" + (f", not {_WORDS.get(found[2], found[2])}" if found[2] else "")


def _complete_lists(value: Any, kind: Any) -> Any:
    """Put a single word or number into a list if `kind` wants a list: `layouts: nn`."""
    if get_origin(kind) is list:
        (inside,) = get_args(kind)
        items = [value] if isinstance(value, str | int | float) and get_origin(inside) is not list else value
        return [_complete_lists(item, inside) for item in items] if isinstance(items, list) else items
    models = _list_models(kind)
    if not models or not isinstance(value, dict):
        return value
    kinds = {field.encode_name: field.type for field in msgspec.structs.fields(models[0])}
    return {key: _complete_lists(each, kinds.get(key)) for key, each in value.items()}


def _list_models(kind: Any) -> list[type[msgspec.Struct]]:
    """List the models that a value of this type may have."""
    return [each for each in (kind, *get_args(kind)) if isinstance(each, type) and issubclass(each, msgspec.Struct)]


def _describe_form(model: type[msgspec.Struct], path: Path) -> str:
    """Describe what a key or an item of its list may be if the model has words for it in `forms`, else ""."""
    forms: Mapping[str, str] = getattr(model, "forms", {})
    is_whole = len(path) == 1 or (len(path) == len(("key", 0)) and isinstance(path[1], int))
    return forms.get(str(path[0]), "") if is_whole else ""


def _quote_value(data: Any, path: Path) -> str:
    """Quote the start of the value at `path`, such as `40.5`, or `'40'` for text."""
    for step in path:
        data = data[step]
    text = repr(data)
    return f"`{text if len(text) <= _MOST_QUOTED else f'{text[:_MOST_QUOTED]}...'}`"


def _list_keys(model: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(model)]


def _describe_unknown_key(name: str, model: type[msgspec.Struct]) -> str:
    fields = _list_keys(model)
    for field in msgspec.structs.fields(model):
        if any(name in _list_keys(each) for each in _list_models(field.type)):
            return f"'{name}' belongs under `{field.encode_name}`"
    return f"unknown key '{name}'{nearest(name, fields)}; known: {', '.join(fields)}"


def _list_known(model: type[msgspec.Struct], key: str | int) -> str:
    """Return the values that a key accepts if its type is a Literal, else ""."""
    kind = next((field.type for field in msgspec.structs.fields(model) if field.encode_name == key), None)
    kinds = [part for part in get_args(kind) if get_args(part)]  # of a key that may be empty
    words = get_args(kinds[0] if kinds else kind)
    return f"; known: {', '.join(map(str, words))}" if words else ""


def _find_model(model: type[msgspec.Struct], path: Path) -> type[msgspec.Struct]:
    """Return the struct that describes the data at `path` inside `model`."""
    for step in path:
        for field in msgspec.structs.fields(model):
            if field.encode_name == step:
                model = next(find_structs(field.type), model)
                break
    return model


def find_structs(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """Yield the structs inside a type, such as PostRowModel in list[str | PostRowModel]."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for part in get_args(kind):
        yield from find_structs(part)


def _parse_path(where: str) -> Path:
    steps = re.findall(r"\.([A-Za-z_]\w*)|\[(\d+)\]", where)
    return tuple(name or int(index) for name, index in steps)


def parse_document(text: str, location: str, first_line: int = 1) -> Document:
    """Parse `text`, which begins at line `first_line` of `location`. Raises SpecError."""
    if len(text) > _LONGEST:
        raise SpecError(location, first_line, f"{len(text)} characters of YAML are too many; at most {_LONGEST}")
    if (odd := _SURROGATE.search(text)) is not None:  # an escape in the docstring of a Python file
        line = first_line + text.count("\n", 0, odd.start())
        raise SpecError(location, line, f"\\u{ord(odd[0]):x} is half a character, which YAML cannot have; remove it")
    reader = _Reader(location, first_line)
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        line = first_line + (mark.line if mark else 0)
        raise SpecError(location, line, f"broken YAML: {_describe_fault(fault)}") from None
    if not isinstance(node, yaml.MappingNode):
        raise SpecError(location, first_line, "expected `key: value` lines")
    return Document(location, reader.read(node, ()), reader.lines)


def _describe_fault(fault: yaml.YAMLError) -> str:
    """Describe a fault in one line."""
    return (getattr(fault, "problem", None) or str(fault)).splitlines()[0]


class _Reader:
    """Turns composed nodes into plain data, records their lines, and rejects traps."""

    def __init__(self, location: str, first_line: int):
        self.location, self.first_line = location, first_line
        self.lines: dict[Path, int] = {}
        self.count = 0

    def error_at(self, node: yaml.Node, message: str) -> SpecError:
        return SpecError(self.location, self.first_line + node.start_mark.line, message)

    def read(self, node: yaml.Node, path: Path) -> Any:
        self.count += 1
        if self.count > _MOST_NODES or len(path) > 20:
            raise self.error_at(node, "too large, or an alias that contains itself")
        self.lines[path] = self.first_line + node.start_mark.line
        if isinstance(node, yaml.MappingNode):
            return self.read_mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self.read_scalar(node)
        raise self.error_at(node, "expected a word, a number, a list or `key: value` lines")

    def read_mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        items: dict[str, Any] = {}
        for key, value in node.value:
            name = key.value
            if not isinstance(key, yaml.ScalarNode) or not isinstance(name, str) or name == "<<":
                raise self.error_at(key, "a key must be a plain word")
            inside = (*path, name)
            if name in items:
                first = self.lines[inside]
                raise self.error_at(key, f"duplicate key '{name}' (first on line {first}); keep one of them")
            items[name] = self.read(value, inside)
            self.lines[inside] = self.first_line + key.start_mark.line
        return items

    def read_scalar(self, node: yaml.ScalarNode) -> Any:
        text, kind = node.value, node.tag.rpartition(":")[2]
        plain = not node.style  # the C loader says "", the other None
        if kind == "int" and ":" not in text:
            return self.read_integer(node, text)
        if kind == "float":
            return self.read_float(node, text)
        if kind == "bool":
            if text.lower() not in ("true", "false"):
                raise self.error_at(node, f"YAML reads `{text}` as a truth value; write true or false, or quote it")
            return text.lower() == "true"
        if kind == "null":
            return None
        if kind not in ("str", "int", "timestamp"):
            raise self.error_at(node, f"a value of type {node.tag} is not allowed")
        if plain and _EXPONENT.match(text):
            self.check_length(node, text)
            if not math.isfinite(float(text)):
                raise self.error_at(node, f"`{text}` is not a valid number; write a finite one")
            raise self.error_at(node, f"YAML reads `{text}` as text; write {float(text):.12g}")
        if plain and text.count("(") != text.count(")"):
            raise self.error_at(node, f"'{text}' was cut at a comma; write one item per line, each after a dash")
        return text

    def read_integer(self, node: yaml.Node, text: str) -> int:
        if re.match(r"[-+]?0[\d_]", text):
            raise self.error_at(node, f"YAML reads `{text[:40]}` as an octal number; write it without the leading 0")
        self.check_length(node, text)
        try:
            number = int(text.replace("_", ""), 0)
        except ValueError:
            raise self.error_at(node, f"`{text[:40]}` is not a valid number") from None
        self.check_length(node, number)
        return number

    def read_float(self, node: yaml.Node, text: str) -> float:
        self.check_length(node, text)
        try:
            number = float(text.replace("_", ""))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self.error_at(node, f"`{text[:40]}` is not a valid number; write a finite one")
        return number

    def check_length(self, node: yaml.Node, number: str | int) -> None:
        """Reject a number that has more digits than anyone would intend."""
        try:
            check_digits("number", number)
        except UsageError as fault:
            raise self.error_at(node, str(fault)) from None
