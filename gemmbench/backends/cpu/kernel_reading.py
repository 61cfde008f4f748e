"""Works out from a kernel's text how to call it: its template, slots, launches and tiles, and the problems to try."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gemmbench.backends.cpu.preprocessing import Preprocessed, name_missing
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.backends.cpu.tryouts import (
    Shape,
    write_arguments,
)
from gemmbench.backends.sources import SourceText, inline_headers
from gemmbench.errors import BuildError, UsageError, nearest
from gemmbench.planning.cpp.items import Item, Source
from gemmbench.planning.cpp.reach import find_reached
from gemmbench.planning.cpp.signatures import Kernel, Signatures
from gemmbench.planning.drafts.draft import (
    NotFound,
    find_include_items,
)
from gemmbench.planning.drafts.guesses import (
    find_axis_of_rows,
    find_tile_role,
    find_usual_value,
    name_operand,
    name_size,
)
from gemmbench.planning.drafts.launch_values import (
    UnknownValue,
    Value,
    WrittenLaunch,
    evaluate,
    find_launches,
    to_triple,
)
from gemmbench.planning.drafts.roles import (
    Roles,
    Slot,
    Undecidable,
    list_slots,
    order_sizes,
)
from gemmbench.planning.drafts.scanning import evaluate as evaluate_constant
from gemmbench.planning.drafts.scanning import hide_comments, read_constants
from gemmbench.planning.files import display_path, follow_links
from gemmbench.planning.manifests.variant import Code, Variant
from gemmbench.planning.precisions import BFLOAT16, E4M3, E5M2

_LARGEST_FIXED, _MOST_FIXED, _MOST_PRODUCTS = 8192, 4, 1 << 30
"""Limits on the sizes tried from a kernel's text: the largest size, the number of sizes, and the largest M N K."""
MOST_THREADS, _MOST_WORK = 1024, 4_000_000
NUMPY_TYPES: dict[str, np.dtype[Any]] = {
    **dict.fromkeys(("float", "float2", "float4", "void"), np.dtype(np.float32)),
    **dict.fromkeys(("double", "double2"), np.dtype(np.float64)),
    **dict.fromkeys(("half", "half2"), np.dtype(np.float16)),
    **dict.fromkeys(("bfloat16", "bfloat162"), BFLOAT16.numpy_type()),
    "e4m3": E4M3.numpy_type(),
    "e5m2": E5M2.numpy_type(),
}
Sizes = Mapping[str, float]


@dataclass(frozen=True)
class KernelFile:
    """A file of code: the text for the compiler, the preprocessed text, and the kernels.

    `constants` holds the values of constants at namespace scope. `written` holds the texts of macros and constants.
    `macros` holds the macros that are missing from the file and must be defined in the manifest.
    """

    path: Path
    home: Path
    include: tuple[str, ...]
    text: SourceText
    found: Preprocessed
    signatures: Signatures
    compiler: CpuCompiler
    constants: Mapping[str, float]
    written: Mapping[str, str]
    macros: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        return self.found.source

    def define(self, macros: Mapping[str, str]) -> KernelFile:
        """Return the file with more macros defined. Raises NotFound."""
        macros = {**self.macros, **macros}
        text = replace(self.text, defines=tuple(f"#define {name} {value}" for name, value in macros.items()))
        try:
            found = self.compiler.preprocess(text)
        except BuildError as fault:
            raise NotFound(str(fault).partition("\n")[0]) from None
        changed = replace(self, text=text, found=found, signatures=Signatures(found.source), macros=macros)
        return replace(changed, constants=_read_constants(found.source), written={**self.written, **macros})


def read_file(text: str, path: Path, home: Path) -> KernelFile:
    include = tuple(find_include_items(text, path, home))
    folders = tuple(str(follow_links(home / each)) for each in include if each not in ("cublas", "cutlass"))
    code = Code(str(follow_links(path)), foreign=True, include=folders)
    place = display_path(path)
    variant = Variant(path.stem, "", 0, "kernel", (), (), (), path=place, text=text, code=code)
    compiler = CpuCompiler()
    try:
        whole = SourceText((), (), inline_headers(variant, text, place))
        found = compiler.preprocess(whole)
    except BuildError as fault:
        line = str(fault).partition("\n")[0]
        raise NotFound(line, compiler_error=line) from None
    constants, written = _read_constants(found.source), read_constants(hide_comments(text))
    return KernelFile(path, home, include, whole, found, Signatures(found.source), compiler, constants, written)


_CONSTANT = re.compile(r"\b(?:const|constexpr)\s[^=;(){}]*?\b(\w+)\s*=\s*([^;{}]{1,200});")


def _read_constants(source: Source) -> dict[str, float]:
    """Return the numeric constants at namespace scope."""
    found: dict[str, float] = {}
    for item in source.walk():
        if item.kind == "other" and (written := _CONSTANT.search(source.text[item.start : item.end])):
            with contextlib.suppress(UnknownValue):
                value = evaluate(written[2], {}, found)
                if not isinstance(value, tuple):
                    found[written[1]] = value
    return found


def order_kernels(file: KernelFile, symbol: str | None) -> list[Kernel]:
    """Return the kernels to try.

    Those with at least three pointers come first, and among them those that the file launches.
    """
    kernels = file.signatures.kernels
    if symbol is None:
        launched = {each.name for each in kernels if find_launches(file.source, each.name)}
        return sorted(kernels, key=lambda each: (_count_pointers(each) < 3, each.name not in launched))
    chosen = [each for each in kernels if symbol in (each.name, each.symbol)]
    if kernels and not chosen:
        names = list(dict.fromkeys(each.symbol for each in kernels))
        place = display_path(file.path)
        raise UsageError(f"{place}: no kernel '{symbol}'{nearest(symbol, names)}; it has {', '.join(names)}")
    return chosen


def _count_pointers(kernel: Kernel) -> int:
    return sum(each.stars > 0 or each.type not in _SCALAR_TYPES for each in kernel.parameters)


def is_guessing(file: KernelFile, kernel: Kernel) -> bool:
    """Return whether the file lacks macros or template arguments that the kernel needs."""
    return bool(find_undefined(file, kernel)) or (bool(kernel.template) and not find_launches(file.source, kernel.name))


def find_undefined(file: KernelFile, kernel: Kernel) -> list[str]:
    """Return the upper-case names of tile and warp sizes that a kernel uses but that are not defined."""
    reached = find_reached(file.source, [kernel.symbol])
    used = {token.text for item in reached if item.kind != "scope" for token in item.tokens if token.kind == "word"}
    defined = {name for item in file.source.walk() for name in item.names}
    defined |= {name for item in reached for name in _list_declared(item)}
    names = sorted(name for name in used - defined if _MACRO.fullmatch(name))
    return [name for name in names if find_tile_role(name) or WARP.fullmatch(name)]


_MACRO, WARP = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*"), re.compile(r"WARP_?SIZE")


def _list_declared(item: Item) -> Iterator[str]:
    """Yield the names that an item declares: names after a type, and names with a value in a list."""
    for before, token, after in zip(item.tokens, item.tokens[1:], item.tokens[2:], strict=False):
        typed = before.kind == "word" and before.text not in _NO_TYPES and after.is_sign(*"=,;{[(>)")
        if token.kind == "word" and (typed or (before.is_sign(",", "{") and after.is_sign("="))):
            yield token.text


_NO_TYPES = {"return", "case", "else", "sizeof"}

_INTEGERS = {"int", "unsigned", "long", "size_t", "short", "ushort"}
_OWN_SIZES = (96, 64, 80, 48)
"""Sizes for template arguments, all different, if the kernel takes no sizes as function arguments."""
_DYNAMIC_SHARED = re.compile(r"\bextern\b[^;{}]*__shared__|__shared__[^;{}]*\bextern\b")
_USUAL_SHARED = 48 << 10
"""Bytes of dynamic shared memory if the launch does not give a number. Every kernel may use this much."""
_SCALAR_TYPES = set("int unsigned long size_t short ushort bool char uchar float double half bfloat16".split())
_SQUARE_TILE = re.compile(r"__shared__[^;]{0,80}\[\s*(\d{1,2})\s*\]\s*\[\s*\1\s*\]")

Rule = Callable[[Sizes, Mapping[int, str]], Value]
"""A function that takes sizes and the roles of slots and returns a grid, a block or bytes. Raises UnknownValue."""


@dataclass(frozen=True)
class Geometry:
    grid: Rule
    block: Rule
    shared: Rule

    def evaluate(self, sizes: Sizes, roles: Mapping[int, str]) -> tuple[Shape, Shape, int]:
        grid, block = to_triple(self.grid(sizes, roles)), to_triple(self.block(sizes, roles))
        shared = to_triple(self.shared(sizes, roles))[0]
        threads, blocks = int(np.prod(block, dtype=float)), int(np.prod(grid, dtype=float))
        if min(*grid, *block) < 1 or threads > MOST_THREADS or threads * blocks > _MOST_WORK or shared > 228 << 10:
            raise UnknownValue("a launch that is empty or too large")
        return grid, block, shared


def _exchange(rule: Rule) -> Rule:
    def exchanged(sizes: Sizes, roles: Mapping[int, str]) -> Value:
        x, y, z = to_triple(rule(sizes, roles))
        return y, x, z

    return exchanged


def _join_axes(along_x: Rule, along_y: Rule) -> Rule:
    """Return a grid that takes x from one rule and y from another."""

    def joined(sizes: Sizes, roles: Mapping[int, str]) -> Value:
        x, _, z = to_triple(along_x(sizes, roles))
        return x, to_triple(along_y(sizes, roles))[1], z

    return joined


def fix_sizes(value: Value) -> Rule:
    return lambda sizes, roles: value


def _count_elements(threads: int) -> Rule:
    return lambda sizes, roles: -(-sizes["M"] * sizes["N"] // threads)


def make_tile_grid(columns: str, width: int, rows: str, height: int) -> Rule:
    return lambda sizes, roles: (-(-sizes[columns] // width), -(-sizes[rows] // height))


@dataclass(frozen=True)
class _Template:
    """A kernel's template arguments: their texts, and the types and integers by name."""

    texts: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    integers: Mapping[str, int] = field(default_factory=dict)


USUAL: tuple[dict[str, int], ...] = (
    {},
    {"BM": 64, "BN": 64, "TILE": 16, "": 16},
    {"BM": 32, "BN": 32, "BK": 32, "TM": 4, "TN": 4, "TILE": 32},
)


class KernelReading:
    """A kernel as written in its file, with template arguments chosen. `usual` has values for unknown ones."""

    def __init__(self, file: KernelFile, kernel: Kernel, usual: Mapping[str, int]):
        self.file, self.kernel, self.usual = file, kernel, usual
        places = [each.place for each in file.signatures.kernels if each.symbol == kernel.symbol]
        if len(places) > 1:
            lines = " and ".join(str(line) for _, line in places)
            raise Undecidable(f"is overloaded (lines {lines}), and its name does not identify one of them; rename one")
        self.launch = next(iter(find_launches(file.source, kernel.name)), None)
        reached = find_reached(file.source, [kernel.symbol])
        self.body = "\n".join(file.source.text[item.start : item.end] for item in reached if item.kind != "scope")
        self.template, self.slots, self.program = self.compile()
        self.geometries = list(self.list_geometries())

    def compile(self) -> tuple[_Template, list[Slot], Path]:
        """Choose template arguments, list the slots, and compile the program that tries the kernel.

        Raises Undecidable and the errors of CpuCompiler.compile_tryout.
        """
        template = self.choose_template(self.usual)
        try:
            slots = list_slots(self.kernel, self.file.signatures, dict(template.types))
        except Undecidable as fault:
            raise Undecidable(f"{fault}{self.name_missing_type(template)}") from None
        symbol = f"{self.kernel.symbol}<{', '.join(template.texts)}>" if template.texts else self.kernel.symbol
        grouped = [list(group) for _, group in itertools.groupby(slots, key=lambda slot: slot.parameter)]
        call = write_arguments([[slot.field for slot in group] for group in grouped])
        return template, slots, self.file.compiler.compile_tryout(self.file.text, self.file.found, symbol, call)

    def name_missing_type(self, template: _Template) -> str:
        """Name the headers that were left out, if the kernel takes a type that is not declared; otherwise return ""."""
        declared = {name for item in self.file.source.walk() for name in item.names}
        known = declared | _SCALAR_TYPES | NUMPY_TYPES.keys() | template.types.keys() | {"dim3"}
        types = {each.type.partition("<")[0].rpartition("::")[2] for each in self.kernel.parameters}
        return "" if types <= known else name_missing(self.file.found)

    def choose_template(self, usual: Mapping[str, int]) -> _Template:
        texts, types, integers = list[str](), dict[str, str](), dict[str, int]()
        signatures = self.file.signatures
        takes_sizes = any(not each.stars and each.type in _INTEGERS for each in self.kernel.parameters)
        own = itertools.cycle(() if takes_sizes else _OWN_SIZES)
        for place, each in enumerate(self.kernel.template):
            given = self.launch.template if self.launch else ()
            written = given[place] if place < len(given) else each.default
            if each.is_type:
                written = written or self.find_functor(each.name)
                kind = signatures.resolve(written)[0] if written else ""
                if kind not in _SCALAR_TYPES and kind not in NUMPY_TYPES and signatures.list_fields(kind) is None:
                    kind, written = ("int", "int") if "ndex" in each.name else ("float", "float")
                types[each.name] = kind
                texts.append(written)
                continue
            known = {**self.file.constants, **integers}
            try:
                value = to_triple(evaluate(written, self.launch.variables if self.launch else {}, known))[0]
            except UnknownValue:
                value = 0
            if not takes_sizes and not find_tile_role(each.name) and not 0 < value < _OWN_SIZES[0]:
                value = next(own)
            integers[each.name] = value or find_usual_value(each.name, usual)
            texts.append(str(integers[each.name]))
        return _Template(tuple(texts), types, integers)

    def find_functor(self, kind: str) -> str:
        """Return a callable class from the file, for a template type whose values the kernel calls."""
        called = (re.search(rf"\b{each.name}\s*\(", self.body) for each in self.kernel.parameters if each.type == kind)
        if not any(called):
            return ""
        classes = (item for item in self.file.source.walk() if item.kind == "class")
        functors = (item for item in classes if any(token.text == "operator" for token in item.body))
        return next((name for item in functors for name in item.names), "")

    def list_geometries(self) -> Iterator[Geometry]:
        """Yield possible grids and blocks: the launch as written, the launch with x and y swapped, and usual tiles."""
        shared, blocks = fix_sizes((_USUAL_SHARED if _DYNAMIC_SHARED.search(self.body) else 0,)), list[Rule]()
        late = list[Geometry]()
        if self.launch:
            written = self.follow_launch(self.launch)
            shared = written.shared if self.is_known(written.shared) else shared
            written = replace(written, shared=shared)
            blocks.append(written.block)
            if self.is_fixed(written.grid):
                late.append(written)
            else:
                yield from self.list_readings(written)
        blocks += self.list_blocks()
        tiles = self.list_tiles()
        for block in blocks:
            try:
                x, y, _ = to_triple(block(dict.fromkeys("MNK", 1024), {}))
            except UnknownValue:
                x, y = 16, 16
            flat = y == 1 and x > 1
            pairs = [(self.named[name], self.named[other]) for name, other in [("BN", "BM")] if self.has("BM", "BN")]
            pairs += [] if flat else [(x, y)]
            pairs += [(tile, tile) for tile in tiles]
            pairs += [] if flat else [(x * f, y * g) for f, g in itertools.product((1, 2, 4, 8), repeat=2)]
            for width, height in dict.fromkeys(pairs):
                for columns, rows in ("NM", "MN"):
                    yield Geometry(make_tile_grid(columns, width, rows, height), block, shared)
            if y == 1:
                yield Geometry(_count_elements(x), block, shared)
            yield from late
            late.clear()

    def list_readings(self, written: Geometry) -> Iterator[Geometry]:
        """Yield a launch as written, then with the grid's x and y swapped.

        If the launch uses one name for several sizes, x is taken to run along N and y along M, unless the kernel shows
        otherwise.
        """
        assert self.launch is not None, "it is written"
        if not self.shared_names:
            yield from (written, replace(written, grid=_exchange(written.grid)))
            return
        rows = find_axis_of_rows(self.body, self.list_row_indices())
        for axes in ("MN", "NM") if rows == "x" else ("NM", "MN"):
            x, y = (self.follow_launch(self.launch, axis).grid for axis in axes)
            yield replace(written, grid=_join_axes(x, y))

    @property
    def shared_names(self) -> set[str]:
        """The names that the launch passes for more than one size."""
        given = self.launch.arguments if self.launch else ()
        texts = [given[slot.parameter] for slot in self.sizes if slot.parameter < len(given) and not slot.field]
        return {text for text in texts if texts.count(text) > 1}

    def list_row_indices(self) -> list[str]:
        """Return the expressions that the kernel compares with M."""
        number = next((n for n, role in self.usual_roles.items() if role == "M"), None)
        return [] if number is None else self.list_words_below(self.slots[number].name)

    def list_words_below(self, size: str) -> list[str]:
        return re.findall(rf"\b(\w+)\s*(?:<|>=)\s*{re.escape(size)}\b", self.body)

    def is_known(self, rule: Rule) -> bool:
        """Return whether all values in a rule are known."""
        try:
            return bool(to_triple(rule(dict.fromkeys("MNK", 1024), self.usual_roles)))
        except UnknownValue:
            return False

    def is_fixed(self, grid: Rule) -> bool:
        """Return whether the kernel takes sizes but a grid made from the launch's constants fits only one problem."""
        if not self.sizes or self.launch is None:
            return False
        try:
            for slot in self.sizes:
                evaluate(self.launch.arguments[slot.parameter], {}, self.file.constants)
            samples = {to_triple(grid(dict.fromkeys("MNK", size), self.usual_roles)) for size in (1024, 4096)}
        except (UnknownValue, IndexError):
            return False
        return len(samples) == 1

    @property
    def usual_roles(self) -> Roles:
        return order_sizes(self.slots)[0]

    def follow_launch(self, launch: WrittenLaunch, first: str = "") -> Geometry:
        """Return the launch as written. If a name is passed for several sizes including `first`, it means `first`."""

        def find_names(sizes: Sizes, roles: Mapping[int, str]) -> dict[str, float]:
            known = {**self.file.constants, **self.template.integers}
            for number, slot in sorted(enumerate(self.slots), key=lambda each: roles.get(each[0], "") != first):
                role = roles.get(number, "")
                if slot.parameter < len(launch.arguments) and role in sizes:
                    text = launch.arguments[slot.parameter]
                    names = (
                        [f"{text}.{slot.field}", f"{text.removeprefix('d_')}.{slot.field}"] if slot.field else [text]
                    )
                    for name in names:
                        known.setdefault(name, sizes[role])
            in_structures = all(slot.field for slot in self.sizes)
            for name in "MNK":
                written = launch.variables.get(name, "")
                if not written or (in_structures and written.isdecimal()):
                    known.setdefault(name, sizes[name])
                known.setdefault(name.lower(), known.get(name, sizes[name]))
            return known

        def make(text: str) -> Rule:
            return lambda sizes, roles: evaluate(text, launch.variables, find_names(sizes, roles))

        return Geometry(make(launch.grid), make(launch.block), make(launch.shared))

    @property
    def named(self) -> dict[str, int]:
        """Tile sizes and similar values, by role, from constants and template parameters."""
        local = re.findall(r"\bconst(?:expr)?\s+(?:\w+\s+)*?(\w+)\s*(?:=|\{)\s*(\d+)[uU]?\s*[;,}]", self.body)
        values = {**self.file.constants, **{name: int(value) for name, value in local}, **self.template.integers}
        found = {find_tile_role(name): int(value) for name, value in values.items() if value >= 1}
        return {role: value for role, value in found.items() if role}

    def has(self, *roles: str) -> bool:
        return all(role in self.named for role in roles)

    def list_tiles(self) -> list[int]:
        text = {int(each) for each in re.findall(r"\b(16|32|64|128|256)\b", self.body)}
        own = {value for value in self.template.integers.values() if 8 <= value <= 256}
        return sorted(text | own | {value for value in self.named.values() if 8 <= value <= 256}, reverse=True)

    def list_blocks(self) -> Iterator[Rule]:
        flat, named = re.search(r"threadIdx\s*\.\s*y", self.body) is None, self.named
        bounds = re.search(r"__launch_bounds__\s*\(\s*(\d+)", self.body)
        sides = [(32, 32), (16, 16), (8, 8), (32, 8), (16, 8), (8, 16)]
        shapes: list[tuple[int, ...]] = [] if re.search(r"\bthreadIdx\b", self.body) else [(1,)]
        if bounds:
            threads = int(bounds[1])
            shapes.append((threads,) if flat else (int(threads**0.5),) * 2)
        if self.has("BM", "BN", "TM", "TN"):
            x, y = named["BN"] // named["TN"], named["BM"] // named["TM"]
            shapes.append((x * y,) if flat else (x, y))
        if self.has("BM", "BN", "TM") and flat:
            shapes.append((named["BM"] * named["BN"] // named["TM"],))
        shapes += [(named["THREADS"],)] if self.has("THREADS") else []
        sides.sort(key=lambda side: side[0] not in self.list_tiles() or side[0] != side[1])
        shapes += [(x * y,) for x, y in sides[:3]] + [(128,), (512,)] if flat else sides
        for shape in dict.fromkeys(shapes):
            yield fix_sizes(shape)

    def are_sizes_passed_by_name(self) -> bool:
        """Return whether the launch uses the same names for M and N as the kernel."""
        given = self.launch.arguments if self.launch else ()
        pairs = [(slot.name, given[slot.parameter]) for slot in self.sizes if slot.parameter < len(given)]
        named = [(name_size(name), name_size(text)) for name, text in pairs]
        return {("M", "M"), ("N", "N")} <= set(named)

    def read_pointers(self, roles: Roles) -> Roles:
        """Return the roles of the slots.

        They are corrected if the launch passes A, B and C in an order that differs from the kernel's names.
        """
        given = self.launch.arguments if self.launch else ()
        slots = {n: slot for n, slot in enumerate(self.slots) if roles[n] in ("A", "B", "C") and not slot.field}
        if len(slots) < len("ABC") or any(slot.parameter >= len(given) for slot in slots.values()):
            return roles
        called = {name_operand(slot.name): roles[n] for n, slot in slots.items()}
        passed = {n: name_operand(given[slot.parameter]) for n, slot in slots.items()}
        if set(called) != set("ABC") or set(passed.values()) != set("ABC"):
            return roles
        return {**roles, **{n: called[name] for n, name in passed.items()}}

    def list_tile_multiples(self, roles: Roles) -> dict[str, int]:
        """Return the numbers that must divide M, N and K.

        Sizes that the kernel compares with something are left out.
        """
        if len(self.sizes) == 1:
            return {}
        tile, multiples = self.named.get("TILE", self.find_square_tile()), dict[str, int]()
        for name, role in (("M", "BM"), ("N", "BN"), ("K", "BK")):
            step = self.named.get(role, tile)
            multiples |= {name: step} if step and not self.list_compared(roles, name) else {}
        return multiples

    def find_square_tile(self) -> int:
        """Return the side of square tiles in shared memory, or 0 if there are none."""
        found = _SQUARE_TILE.search(self.body)
        return int(found[1]) if found else 0

    def list_compared(self, roles: Roles, size: str) -> list[str]:
        """Return the expressions that the kernel's text compares with a size, ignoring loop conditions."""
        text = re.sub(r"\bfor\s*\([^;]*;[^;]*;", "", self.body)
        words = [re.escape(slot.name) for number, slot in enumerate(self.slots) if roles[number] == size]
        return [
            each for word in words for each in re.findall(rf"([^;{{}}?&|=<>]*)(?:[<>]=?|[!=]=)\s*\(?{word}\b", text)
        ]

    def list_guarded(self, roles: Roles) -> list[str]:
        """Return the sizes that threads compare their index with, as they do in a kernel for any size."""
        own, known = {"threadIdx"}, 0
        while known < len(own):
            known = len(own)
            pattern = rf"\b(\w+)\s*=(?!=)[^;]*?\b(?:{'|'.join(own)})\b"
            own |= set(re.findall(pattern, self.body))

        def is_guarded(size: str) -> bool:
            return any(own.intersection(re.findall(r"\w+", each)) for each in self.list_compared(roles, size))

        return [size for size in "MNK" if is_guarded(size)]

    def list_unused_pointers(self) -> Roles:
        """Return what to pass for pointers that are not operands: null if the code tests for null, otherwise zeros."""
        found = {}
        for number, slot in enumerate(self.slots):
            if slot.kind == "pointer":
                tested = re.search(rf"\b{re.escape(slot.name)}\s*(?:[!=]=|\?|\))", self.body)
                found[number] = "null" if tested else "zeros"
        return found

    def list_written(self) -> list[int]:
        """Return the pointers that the kernel assigns to by name.

        If it assigns to one of three pointers, that one is C.
        """
        slots = [(number, slot) for number, slot in enumerate(self.slots) if slot.kind == "pointer" and not slot.owner]
        assigned = r"\b{}\s*\[[^;{{}}=]*\]\s*(?:[-+*/]?=)(?!=)"
        found = [number for number, slot in slots if re.search(assigned.format(re.escape(slot.name)), self.body)]
        return found if len(slots) == 3 else []

    @property
    def sizes(self) -> list[Slot]:
        return [slot for slot in self.slots if slot.kind == "size"]

    def list_shapes(self) -> list[tuple[dict[str, int], list[Shape]]]:
        """Return groups of problems to try, likeliest first. Each group comes with the sizes that the text fixes."""
        fixed = self.find_written_sizes()
        if not self.sizes and len(fixed) < len("MNK"):
            return [(dict(zip("MNK", shape, strict=True)), [shape]) for shape in self.list_written_shapes()]
        usual = self.choose_shapes()
        if not fixed:
            return [({}, usual)]
        changed = [dict(zip("MNK", shape, strict=True)) | fixed for shape in usual]
        pinned = (fixed, list(dict.fromkeys((each["M"], each["N"], each["K"]) for each in changed)))
        if any(math.prod(shape) > _MOST_PRODUCTS for shape in pinned[1]):
            largest = max(fixed.values())
            if not self.sizes:
                raise Undecidable(f"takes no sizes, and the sizes in its text, such as {largest}, are too large to try")
            return [({}, usual)]
        return [pinned, ({}, usual)] if self.sizes else [pinned]

    def choose_shapes(self) -> list[Shape]:
        """Return problems to try.

        Their sizes are multiples of the tiles, and M, N and K differ unless there is only one size.

        Each of M, N and K is the smallest in one problem, because a grid made from a larger size would cover the
        problem by accident.
        """
        largest = max([tile for tile in self.list_tiles() if tile in (64, 128, 256)] + [32])
        tile = max(16, min(256, self.measure_tile() or largest))
        if len(self.sizes) == 1 and not self.find_written_sizes():
            return [(2 * tile,) * 3, (tile,) * 3] if tile > 64 else [(2 * tile,) * 3, (3 * tile,) * 3]
        depth, deeper = (128, 256) if tile == 64 else (64, 128)
        wide = 3 * tile if tile < 128 else 2 * tile
        longer = tile * (depth // tile + 1)
        return [(tile, 2 * tile, depth), (wide, tile, deeper), (longer, longer + tile, depth)]

    def find_written_sizes(self) -> dict[str, int]:
        """Return the values of M, N and K that are defined by macros or constants.

        Only those that the kernel uses but does not take as arguments are included.
        """
        taken = {name_size(slot.name) for slot in self.sizes}
        used = self.list_numbers()
        found: dict[str, int] = {}
        for name, text in self.file.written.items():
            size, value = name_size(name), evaluate_constant(text, self.file.written)
            if size in ("M", "N", "K") and size not in taken and value in used:
                found[size] = value
        return found

    def list_numbers(self) -> list[int]:
        """Return the numbers in the kernel's text that may be sizes, including the values of constants."""
        written = [int(each) for each in re.findall(r"\b\d{2,4}\b", self.body)]
        named = {**self.file.constants, **self.template.integers}
        written += [int(value) for name, value in named.items() if re.search(rf"\b{name}\b", self.body)]
        return sorted({each for each in written if 8 <= each <= _LARGEST_FIXED}, reverse=True)

    def list_written_shapes(self) -> list[Shape]:
        """Return problems that a kernel without sizes may compute: a square, and others made of its largest numbers."""
        numbers = self.list_numbers()[:_MOST_FIXED] or [32]
        others = ((M, N, K) for M, N, K in itertools.product(numbers, repeat=3))
        square = (numbers[0], numbers[0], numbers[0])
        shapes = [square, *sorted(others, key=lambda shape: (-len(set(shape)), -sum(shape)))]
        small = [shape for shape in shapes if math.prod(shape) <= _MOST_PRODUCTS]
        if not small:
            raise Undecidable(f"takes no sizes, and the sizes in its text, such as {numbers[0]}, are too large to try")
        return small

    def measure_tile(self) -> int:
        """Return the larger side of a tile, judging by the grid of the launch; 0 if unknown."""
        if not self.launch or self.is_fixed(self.follow_launch(self.launch).grid):
            return 0
        sizes = [number for number, slot in enumerate(self.slots) if slot.kind == "size"]
        roles = {number: "MNK"[place % 3] for place, number in enumerate(sizes)}
        try:
            grid = to_triple(self.geometries[0].grid(dict.fromkeys("MNK", 4096), roles))
        except UnknownValue:
            return 0
        return max((4096 // count for count in grid if 1 < count <= 512), default=0)
