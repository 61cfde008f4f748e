"""Reads the functions of a CUDA file with their parameters, and the <<< >>> launches that set grid and block."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from gemmbench.planning.drafts.scanning import (
    find_end,
    hide_comments,
    hide_directives,
    list_blocks,
    read_constants,
    split_list,
)

_QUALIFIERS = set("const volatile restrict __restrict__ __restrict __grid_constant__ struct constexpr".split())
_ALIAS = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([a-z_][\w \t]*)$"
    r"|\btypedef\s+([a-z_][\w ]{0,80}?)\s+(\w+)\s*;"
    r"|\busing\s+(\w+)\s*=\s*([a-z_][\w ]*);",
    re.MULTILINE,
)
_CALLED = re.compile(r"\b(\w+)\s*\(")


@dataclass(frozen=True)
class Parameter:
    """One parameter. `type` has no qualifiers and no star of a pointer."""

    name: str
    type: str
    pointer: bool = False
    const: bool = False


@dataclass(frozen=True)
class TemplateParameter:
    """One parameter of a template. `default` is "" if there is none."""

    name: str
    default: str
    is_type: bool


@dataclass(frozen=True)
class Function:
    """A function with a body. `attributes` come before its name, such as `__launch_bounds__(256)`."""

    name: str
    line: int
    template: tuple[TemplateParameter, ...]
    parameters: tuple[Parameter, ...]
    attributes: str
    body: str

    @property
    def is_kernel(self) -> bool:
        """Whether the function is a kernel rather than a host function."""
        return "__global__" in self.attributes

    @property
    def is_device_function(self) -> bool:
        """Whether only device code can call the function."""
        return "__device__" in self.attributes and "__host__" not in self.attributes


def read_functions(text: str) -> list[Function]:
    """Return the functions that a file defines outside classes in order."""
    visible = hide_comments(text)
    code, aliases = hide_directives(visible), _read_aliases(visible)
    found = (_read_function(code, *place, aliases) for place in list_blocks(code))
    return [function for function in found if function]


def _read_aliases(text: str) -> dict[str, str]:
    """Read other names of types: `#define FLOAT float`, `typedef float real`, `using real = float`."""
    found = (match.groups() for match in _ALIAS.finditer(text))
    return {
        macro or name or using: (type1 or type2 or type3).strip() for macro, type1, type2, name, using, type3 in found
    }


def _read_function(code: str, start: int, brace: int, end: int, aliases: Mapping[str, str]) -> Function | None:
    """Return the function whose head begins at `start`; None for a class or an array with values."""
    template, head = _split_template(code[start:brace])
    found = _CALLED.search(head)
    while found and found[1].startswith("__"):  # __launch_bounds__(256)
        found = _CALLED.search(head, find_end(head, found.end() - 1))
    if found is None or re.search(r"=\s*$|\b(struct|class|enum|union)\b", head[: found.start()]):
        return None
    inside = head[found.end() : find_end(head, found.end() - 1) - 1]
    return Function(
        name=found[1],
        line=code.count("\n", 0, brace - len(head) + found.start(1)) + 1,
        template=template,
        parameters=tuple(_read_parameter(item, aliases) for item in split_list(inside) if item != "void"),
        attributes=" ".join(head[: found.start()].split()),
        body=code[brace:end],
    )


def _split_template(head: str) -> tuple[tuple[TemplateParameter, ...], str]:
    """Return the parameters of a template and the text after them."""
    found = re.match(r"\s*template\s*<", head)
    if found is None:
        return (), head
    end = find_end(head, found.end() - 1)
    items = split_list(head[found.end() : end - 1])
    return tuple(_read_template_parameter(item) for item in items), head[end:]


def _read_template_parameter(text: str) -> TemplateParameter:
    declared, _, default = text.partition("=")
    words = re.findall(r"\w+", declared)
    return TemplateParameter(words[-1] if words else "", default.strip(), bool({"typename", "class"} & set(words)))


def _read_parameter(text: str, aliases: Mapping[str, str]) -> Parameter:
    declared = text.partition("=")[0]
    pointer = "*" in declared or "[" in declared
    words = re.findall(r"[\w:]+(?:<[^<>]*>)?", re.sub(r"\[[^\[\]]*\]", " ", declared))
    kept = [word for word in words if word not in _QUALIFIERS]
    name = kept[-1] if len(kept) > 1 else ""
    kind = " ".join(kept[:-1] if name else kept)
    return Parameter(name, aliases.get(kind, kind), pointer, "const" in words)


_BOUNDS = re.compile(r"\b__launch_bounds__\s*\(")


@dataclass(frozen=True)
class LaunchBounds:
    """The most threads in a block of a kernel, as a C++ expression, its line, and the kernel's template."""

    threads: str
    line: int
    template: tuple[TemplateParameter, ...]
    constants: Mapping[str, str]


@lru_cache(maxsize=256)
def find_launch_bounds(text: str, kernel: str) -> LaunchBounds | None:
    """Return the `__launch_bounds__` of a kernel; None if it has none."""
    if "__launch_bounds__" not in text:
        return None
    function = next((each for each in read_functions(text) if each.is_kernel and each.name == kernel), None)
    constants = read_constants(text)
    words = re.split(r"(\W+)", function.attributes) if function else []
    attributes = "".join(constants[word] if "__launch_bounds__" in constants.get(word, "") else word for word in words)
    found = _BOUNDS.search(attributes)
    if function is None or found is None:
        return None
    inside = attributes[found.end() : find_end(attributes, found.end() - 1) - 1]
    before = hide_comments(text).splitlines()[: function.line]
    line = max((number for number, each in enumerate(before, 1) if "__launch_bounds__" in each), default=function.line)
    return LaunchBounds(split_list(inside)[0] if inside else "", line, function.template, constants)


_LAUNCH = re.compile(r"\b(\w+)\s*(?:(<[^;<>]*>)\s*)?<<<")


@dataclass(frozen=True)
class LaunchSite:
    """A launch as it is written in C++. `constants` are the named expressions before it."""

    template: tuple[str, ...]
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str
    arguments: tuple[str, ...]
    constants: dict[str, str]


def find_launch(text: str, kernel: str) -> LaunchSite | None:
    """Return the first launch of a kernel in a file; None if there is none."""
    code, launches = _find_launches(text)
    if found := launches.get(kernel):
        end = code.find(">>>", found.end())
        grid, block, shared, *_ = [*split_list(code[found.end() : end]), "", "", "0"]
        opening = code.find("(", end)
        before = code[: found.start()]
        extent = _read_extent(block, before)
        sizes = {f"{block}.{axis}": size for axis, size in zip("xyz", extent, strict=False)}
        return LaunchSite(
            template=tuple(split_list((found[2] or "<>")[1:-1])),
            grid=_read_extent(grid, before),
            block=extent,
            shared=shared or "0",
            arguments=tuple(split_list(code[opening + 1 : find_end(code, opening) - 1])) if opening >= 0 else (),
            constants={**read_constants(before), **sizes},
        )
    return None


def is_launched(text: str, kernel: str) -> bool:
    """Return whether a file launches a kernel."""
    return kernel in _find_launches(text)[1]


@lru_cache(maxsize=1)
def _find_launches(text: str) -> tuple[str, Mapping[str, re.Match[str]]]:
    """Return the code without comments, and the first complete launch of each kernel. The result is cached."""
    code = hide_comments(text)
    last = code.rfind(">>>")
    found = [match for match in _LAUNCH.finditer(code) if match.end() <= last]
    return code, {match[1]: match for match in reversed(found)}


def _read_extent(text: str, before: str) -> tuple[str, ...]:
    """Return the sizes of a grid or block: those of the `dim3` with this name, or else the expression itself."""
    if text.startswith("dim3"):
        return _read_sizes(text)
    statements = re.findall(r"\bdim3\b([^;]{0,500});", before)
    declared = [item for statement in statements for item in split_list(statement)]
    found = [item for item in declared if re.match(rf"(?:const\s+)?{re.escape(text)}\s*[({{=]", item)]
    return _read_sizes(found[-1]) if found else (text,)


def _read_sizes(declarator: str) -> tuple[str, ...]:
    """Return the text between the brackets of `grid(1, 2)` or `dim3{1, 2}`."""
    if opening := re.search(r"[({]", declarator):
        return tuple(split_list(declarator[opening.end() : find_end(declarator, opening.start()) - 1]))
    return ()
