"""Finds the manifest of a kernel by trying: roles of its arguments, grid and block, and how A, B and C are stored.

Names and launches decide what is tried first, never what is right. What is right on one problem must be right on
two more of other proportions.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gemmbench.backends.cpu.preprocessing import Preprocessed, find_conditions, name_conditions, name_missing
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.backends.cpu.tryouts import (
    SECONDS,
    Ending,
    Shape,
    Storage,
    Trial,
    TrialProblem,
    TrialProcess,
    write_arguments,
)
from gemmbench.backends.sources import SourceText, inline_headers
from gemmbench.errors import BuildError, LaunchError, PlanError, SpecError, Unsupported, UsageError, nearest
from gemmbench.planning.cpp.items import Item, Source
from gemmbench.planning.cpp.reach import find_reached
from gemmbench.planning.cpp.signatures import Kernel, Signatures
from gemmbench.planning.drafts.draft import (
    Attempt,
    BrokenGuard,
    FoundManifest,
    NotFound,
    TriedResult,
    find_include_items,
    quote_text,
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
    are_operands_named,
    are_sizes_named,
    assign_scalars,
    list_slots,
    order_pointers,
    order_sizes,
)
from gemmbench.planning.drafts.scanning import evaluate as evaluate_constant
from gemmbench.planning.drafts.scanning import hide_comments, read_constants
from gemmbench.planning.files import display_path, follow_links
from gemmbench.planning.manifests.expressions import parse
from gemmbench.planning.manifests.variant import Code, Variant

_BUDGET = 6.0
"""Seconds for the tries of one kernel."""
_SHARE_OF_NAMED = 2 / 3
"""Of that for a kernel whose arguments are named, so that little is left to try."""
_POINTERS = {"null": 0, "A": 1, "B": 2, "C": 3, "zeros": 4}
_NUMPY: dict[str, np.dtype[Any]] = {
    **dict.fromkeys(("float", "float2", "float4", "void"), np.dtype(np.float32)),
    **dict.fromkeys(("double", "double2"), np.dtype(np.float64)),
    **dict.fromkeys(("half", "half2"), np.dtype(np.float16)),
}
_LARGEST_FIXED, _MOST_FIXED, _MOST_PRODUCTS = 8192, 4, 1 << 30
"""The largest size in the text of a kernel that is tried, of how many numbers, and of how many products in all."""
_MOST_THREADS, _MOST_WORK = 1024, 4_000_000
_MOST_ENDLESS, _MOST_ATTEMPTS = 2, 6
"""Launches that do not end before no more are tried, and of how many wrong ones the results are kept."""
_WIDEST_VECTOR = 8
"""Elements that a kernel may load at once: its sizes are then multiples of them, whatever it tests."""
_MOSTLY_RIGHT, _MARGIN = 0.3, 0.1
"""The share of right elements that says how matrices are stored, and by how much it tells one combination from another.
Of a result that has nothing to do with the product about one element in thirty is right.
"""
Sizes = Mapping[str, float]


def find_manifest(text: str, path: Path, home: Path, symbol: str | None) -> FoundManifest:
    """Find the manifest, in folder `home`, of a kernel in `path`, whose text is given; `symbol` names the kernel.

    Raises NotFound, UsageError for an unknown `symbol`, SpecError for a text without kernels, and DeviceError
    without a compiler.
    """
    started = time.perf_counter()
    file = _bring_back(_read_file(text, path, home), text, symbol or "")
    kernels = _order_kernels(file, symbol)
    reasons, unsupported, compiler_error, attempts = list[str](), "", "", list[Attempt]()
    known = set[str]()
    for kernel in kernels:
        if kernel.symbol in known:
            continue
        known.add(kernel.symbol)
        try:
            search, found = _search(file, kernel)
            file = search.file
        except _NoneRight as fault:
            attempts = attempts or list(fault.attempts)
            reasons.append(f"{kernel.symbol} {fault}")
            continue
        except (Undecidable, PlanError, LaunchError) as fault:
            line = str(fault).partition("\n")[0]
            if isinstance(fault, Unsupported):
                unsupported = unsupported or line
            elif isinstance(fault, BuildError) and not _is_guessing(file, kernel):
                compiler_error = compiler_error or line
            place = f"{Path(kernel.place[0]).name}:{kernel.place[1]}"
            is_sentence = isinstance(fault, Undecidable)
            reasons.append(f"{kernel.symbol} ({place}) {line}" if is_sentence else f"{kernel.symbol}: {line}")
            continue
        manifest = _write_manifest(file, search, found)
        others = tuple(dict.fromkeys(each.symbol for each in file.signatures.kernels if each.symbol != kernel.symbol))
        seconds = time.perf_counter() - started
        sizes = _list_sizes(search, found)
        return FoundManifest(
            manifest,
            kernel.symbol,
            _summarise(search, found),
            found.tries,
            seconds,
            others,
            sizes,
            tuple(found.broken_guards),
            tuple(found.others),
            found.wrong_launch,
        )
    if not kernels:
        left_out = name_conditions(text, path.name) or f"{name_missing(file.found)}; name the file that defines one"
        message = f"no kernel: no `__global__` function{left_out}"
        raise SpecError(display_path(path), None, message)
    raise NotFound("; ".join(dict.fromkeys(reasons)), unsupported, attempts, compiler_error=compiler_error)


def expand_kernels(text: str, path: Path, home: Path) -> tuple[str, tuple[str, ...]]:
    """A text with its headers and without macros, and the names of its kernels. Raises NotFound, DeviceError."""
    file = _read_file(text, path, home)
    return file.source.text, tuple(dict.fromkeys(each.name for each in file.signatures.kernels))


def _bring_back(file: _File, text: str, symbol: str) -> _File:
    """The file with the macros defined without which it has no such kernel."""
    kernels = file.signatures.kernels
    if any(symbol in ("", each.name, each.symbol) for each in kernels):
        return file
    macros = {name: value for each in find_conditions(text, symbol) for name, value in each.macros.items()}
    changed = file.define(macros) if macros else file
    return changed if len(changed.signatures.kernels) > len(kernels) else file


def _search(file: _File, kernel: Kernel) -> tuple[_Search, _Found]:
    """Search with the template's arguments and macros of the file, or with one after the other of usual ones."""
    unknown = _find_undefined(file, kernel)
    guessing = _is_guessing(file, kernel)
    faults = list[Undecidable | BuildError]()
    for usual in _USUAL if guessing else _USUAL[:1]:
        macros = {name: "32" if _WARP.fullmatch(name) else str(find_usual_value(name, usual)) for name in unknown}
        changed = file.define(macros) if macros else file
        kernels = (
            each for each in changed.signatures.kernels if (each.symbol, each.place) == (kernel.symbol, kernel.place)
        )
        try:
            search = _Search(changed, next(kernels, kernel), usual)
            found = search.find(_BUDGET / 2 if guessing else _BUDGET)
            found.others = next((each.attempts for each in faults if isinstance(each, _NoneRight)), ())
            return search, found
        except (Undecidable, BuildError) as fault:
            faults.append(fault)
    raise next((each for each in reversed(faults) if isinstance(each, _NoneRight) and each.attempts), faults[-1])


def _is_guessing(file: _File, kernel: Kernel) -> bool:
    """Whether the file lacks macros of the kernel, or values of its template."""
    return bool(_find_undefined(file, kernel)) or (
        bool(kernel.template) and not find_launches(file.source, kernel.name)
    )


def _find_undefined(file: _File, kernel: Kernel) -> list[str]:
    """The names of tiles and warps, in capitals, that a kernel uses and nothing defines, as a header would."""
    reached = find_reached(file.source, [kernel.symbol])
    used = {token.text for item in reached if item.kind != "scope" for token in item.tokens if token.kind == "word"}
    defined = {name for item in file.source.walk() for name in item.names}
    defined |= {name for item in reached for name in _list_declared(item)}
    names = sorted(name for name in used - defined if _MACRO.fullmatch(name))
    return [name for name in names if find_tile_role(name) or _WARP.fullmatch(name)]


_MACRO, _WARP = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*"), re.compile(r"WARP_?SIZE")


def _list_declared(item: Item) -> Iterator[str]:
    """The names in an item after a type, and those with values in a list: parameters, local variables, constants."""
    for before, token, after in zip(item.tokens, item.tokens[1:], item.tokens[2:], strict=False):
        typed = before.kind == "word" and before.text not in _NO_TYPES and after.is_sign(*"=,;{[(>)")
        if token.kind == "word" and (typed or (before.is_sign(",", "{") and after.is_sign("="))):
            yield token.text


_NO_TYPES = {"return", "case", "else", "sizeof"}


class _NoneRight(Undecidable):
    """No combination is right; `attempts` are those that may be meant, the likeliest first."""

    def __init__(self, message: str, attempts: Sequence[Attempt]):
        super().__init__(message)
        self.attempts = attempts


@dataclass(frozen=True)
class _File:
    """A file of code: its text for the compiler, what the preprocessor made of it, and its kernels.

    `constants` are the numbers at namespace scope, `written` the texts of macros and constants, `macros` what the
    file lacks and a manifest must define.
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

    def define(self, macros: Mapping[str, str]) -> _File:
        """The file with more macros. Raises NotFound."""
        macros = {**self.macros, **macros}
        text = replace(self.text, defines=tuple(f"#define {name} {value}" for name, value in macros.items()))
        try:
            found = self.compiler.preprocess(text)
        except BuildError as fault:
            raise NotFound(str(fault).partition("\n")[0]) from None
        changed = replace(self, text=text, found=found, signatures=Signatures(found.source), macros=macros)
        return replace(changed, constants=_read_constants(found.source), written={**self.written, **macros})


def _read_file(text: str, path: Path, home: Path) -> _File:
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
    return _File(path, home, include, whole, found, Signatures(found.source), compiler, constants, written)


_CONSTANT = re.compile(r"\b(?:const|constexpr)\s[^=;(){}]*?\b(\w+)\s*=\s*([^;{}]{1,200});")


def _read_constants(source: Source) -> dict[str, float]:
    """The constants at namespace scope that are numbers."""
    found: dict[str, float] = {}
    for item in source.walk():
        if item.kind == "other" and (written := _CONSTANT.search(source.text[item.start : item.end])):
            with contextlib.suppress(UnknownValue):
                value = evaluate(written[2], {}, found)
                if not isinstance(value, tuple):
                    found[written[1]] = value
    return found


def _order_kernels(file: _File, symbol: str | None) -> list[Kernel]:
    """The kernels to try, those that are launched first, and those with three pointers before others."""
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


_INTEGERS = {"int", "unsigned", "long", "size_t", "short", "ushort"}
_OWN_SIZES = (96, 64, 80, 48)
"""Sizes for the template of a kernel that takes none as arguments: no two are the same."""
_DYNAMIC_SHARED = re.compile(r"\bextern\b[^;{}]*__shared__|__shared__[^;{}]*\bextern\b")
_USUAL_SHARED = 48 << 10
"""Bytes of dynamic shared memory, where no launch says how many: what every kernel may have."""
_SCALAR_TYPES = set("int unsigned long size_t short ushort bool char uchar float double half bfloat16".split())

Rule = Callable[[Sizes, Mapping[int, str]], Value]
"""From sizes and the roles of slots to the sizes of a grid or block, or to bytes. Raises UnknownValue."""


@dataclass(frozen=True)
class _Geometry:
    grid: Rule
    block: Rule
    shared: Rule

    def evaluate(self, sizes: Sizes, roles: Mapping[int, str]) -> tuple[Shape, Shape, int]:
        grid, block = to_triple(self.grid(sizes, roles)), to_triple(self.block(sizes, roles))
        shared = to_triple(self.shared(sizes, roles))[0]
        threads, blocks = int(np.prod(block, dtype=float)), int(np.prod(grid, dtype=float))
        if min(*grid, *block) < 1 or threads > _MOST_THREADS or threads * blocks > _MOST_WORK or shared > 228 << 10:
            raise UnknownValue("a launch that is too large, or empty")
        return grid, block, shared


@dataclass
class _Found:
    """What is right: the role of each slot, the launch, and the storage; then what else a manifest says.

    `fixed` are the sizes that are in the text of the kernel; `beta` is 1 for a kernel that adds to C whatever it takes.
    `others` were wrong with other template arguments. `wrong_launch` says what is wrong with the launch in the file.
    """

    roles: dict[int, str]
    geometry: _Geometry
    storage: Storage
    tries: int
    shape: Shape
    fixed: Mapping[str, int]
    beta: float = 0.0
    reads_c: bool = False
    multiples: dict[str, int] = field(default_factory=dict)
    broken_guards: list[tuple[BrokenGuard, TriedResult]] = field(default_factory=list)
    others: Sequence[Attempt] = ()
    wrong_launch: str = ""


@dataclass(frozen=True)
class _Template:
    """The arguments of a kernel's template: their texts, the types and the integers by name."""

    texts: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    integers: Mapping[str, int] = field(default_factory=dict)


_USUAL: tuple[dict[str, int], ...] = (
    {},
    {"BM": 64, "BN": 64, "TILE": 16, "": 16},
    {"BM": 32, "BN": 32, "BK": 32, "TM": 4, "TN": 4, "TILE": 32},
)


class _Search:
    """The search for one kernel."""

    def __init__(self, file: _File, kernel: Kernel, usual: Mapping[str, int]):
        self.file, self.kernel, self.usual = file, kernel, usual
        places = [each.place for each in file.signatures.kernels if each.symbol == kernel.symbol]
        if len(places) > 1:
            lines = " and ".join(str(line) for _, line in places)
            raise Undecidable(f"is overloaded (lines {lines}), and its name does not say which is meant; rename one")
        self.launch = next(iter(find_launches(file.source, kernel.name)), None)
        reached = find_reached(file.source, [kernel.symbol])
        self.body = "\n".join(file.source.text[item.start : item.end] for item in reached if item.kind != "scope")
        self.template, self.slots, self.program = self.compile()
        self.geometries = list(self.list_geometries())

    def compile(self) -> tuple[_Template, list[Slot], Path]:
        """The program that tries the kernel. Raises Undecidable and as CpuCompiler.compile_tryout."""
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
        """The headers that were left out, if the kernel takes what none of the others declares; else ""."""
        declared = {name for item in self.file.source.walk() for name in item.names}
        known = declared | _SCALAR_TYPES | _NUMPY.keys() | template.types.keys() | {"dim3"}
        types = {each.type.rpartition("::")[2] for each in self.kernel.parameters}
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
                if kind not in _SCALAR_TYPES and kind not in _NUMPY and signatures.list_fields(kind) is None:
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
        """A class of the file that can be called, for a type of the template of which the kernel calls a value."""
        called = (re.search(rf"\b{each.name}\s*\(", self.body) for each in self.kernel.parameters if each.type == kind)
        if not any(called):
            return ""
        classes = (item for item in self.file.source.walk() if item.kind == "class")
        functors = (item for item in classes if any(token.text == "operator" for token in item.body))
        return next((name for item in functors for name in item.names), "")

    def list_geometries(self) -> Iterator[_Geometry]:
        """What grid and block may be: those of the launch, its grid with x and y exchanged, then usual tiles."""
        shared, blocks = _fix((_USUAL_SHARED if _DYNAMIC_SHARED.search(self.body) else 0,)), list[Rule]()
        late = list[_Geometry]()
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
                    yield _Geometry(_make_tiles(columns, width, rows, height), block, shared)
            if y == 1:
                yield _Geometry(_count_elements(x), block, shared)
            yield from late
            late.clear()

    def list_readings(self, written: _Geometry) -> Iterator[_Geometry]:
        """A launch as it is written, and with x and y exchanged.

        Where it calls several sizes by one name, x is along N and y along M, unless the kernel says otherwise.
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
        """What the launch calls more than one of the sizes."""
        given = self.launch.arguments if self.launch else ()
        texts = [given[slot.parameter] for slot in self.sizes if slot.parameter < len(given) and not slot.field]
        return {text for text in texts if texts.count(text) > 1}

    def list_row_indices(self) -> list[str]:
        """What the kernel compares with M."""
        number = next((n for n, role in self.usual_roles.items() if role == "M"), None)
        return [] if number is None else self.list_words_below(self.slots[number].name)

    def list_words_below(self, size: str) -> list[str]:
        return re.findall(rf"\b(\w+)\s*(?:<|>=)\s*{re.escape(size)}\b", self.body)

    def is_known(self, rule: Rule) -> bool:
        """Whether the values in a rule are known."""
        try:
            return bool(to_triple(rule(dict.fromkeys("MNK", 1024), self.usual_roles)))
        except UnknownValue:
            return False

    def is_fixed(self, grid: Rule) -> bool:
        """Whether a grid is that of one problem, although the kernel takes sizes: those of the launch are constants."""
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

    def follow_launch(self, launch: WrittenLaunch, first: str = "") -> _Geometry:
        """The launch as it is written; a name for several sizes is the size `first`, if that is one of them."""

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

        return _Geometry(make(launch.grid), make(launch.block), make(launch.shared))

    @property
    def named(self) -> dict[str, int]:
        """Tiles and the like, by the names that constants and parameters of the template have."""
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
            yield _fix(shape)

    def find(self, budget: float) -> _Found:
        """Try for `budget` seconds, the likeliest first. Raises Undecidable."""
        pointers, sizes = order_pointers(self.slots), order_sizes(self.slots)
        is_evident = False
        if not are_operands_named(self.slots) and (written := self.list_written()):
            evident = [each for each in pointers if [number for number, role in each.items() if role == "C"] == written]
            is_evident = bool(evident)
            pointers = [*evident, *(each for each in pointers if each not in evident)]
        scalars, null = assign_scalars(self.slots), self.list_unused_pointers()
        by_size = 15 if are_sizes_named(self.slots) else 2
        by_order = 25 if are_operands_named(self.slots) else 5
        first = 2 if self.launch else 0
        combinations = itertools.product(range(len(pointers)), range(len(sizes)), range(len(self.geometries)))
        costs = [
            ((g if g < first else 3 + g) + by_size * s + by_order * p, p, s, g)
            for p, s, g in itertools.islice(combinations, 500_000)
        ]
        costs.sort()
        named = are_operands_named(self.slots) and are_sizes_named(self.slots)
        budget = budget * _SHARE_OF_NAMED if named else budget
        tries, endless, choices = list[_Tried](), 0, self.list_shapes()
        for fixed, shapes in choices:
            deadline, done = time.perf_counter() + budget / len(choices), set[object]()
            with _Trials(self) as trials:
                for _, p, s, g in costs:
                    if time.perf_counter() > deadline or endless == _MOST_ENDLESS:
                        break
                    roles = {**null, **pointers[p], **sizes[s], **scalars}
                    geometry = self.geometries[g]
                    try:
                        launch = geometry.evaluate(dict(zip("MNK", shapes[0], strict=True)), roles)
                    except UnknownValue:
                        continue
                    key = (tuple(sorted(roles.items())), launch)
                    if key in done:
                        continue
                    done.add(key)
                    storages, right, best = trials.judge(roles, geometry, shapes[0])
                    endless += trials.ending == Ending.TIMEOUT
                    found = _Found(roles, geometry, best, len(tries) + 1, shapes[0], fixed)
                    tries.append(_Tried(found, shapes, right, trials.ending))
                    if fixed and not self.sizes and p:  # with the operands as named it is by rows, at other sizes
                        storages = [each for each in storages if each[1] == "row"]
                    beta = 0.0 if storages else 1.0
                    for storage in (storages or trials.list_added(roles, shapes[0]))[:1]:
                        found = replace(found, storage=storage, beta=beta)
                        is_right = all(storage in trials.run(roles, geometry, each, beta=beta) for each in shapes[1:])
                        if is_right and _is_usual(geometry, roles):
                            trials.explore(found, shapes[0])
                            found.wrong_launch = self.describe_wrong_launch(trials, found, shapes)
                            return found
        if endless == _MOST_ENDLESS:
            message = f"did not end within {SECONDS} s with {_count_combinations(tries)} of its arguments"
        else:
            hint = "" if self.sizes else ", and none of its arguments is a size"
            message = f"was right with none of {_count_combinations(tries)} of its arguments{hint}"
        named = (are_operands_named(self.slots) or is_evident) and are_sizes_named(self.slots)
        named = named and bool(self.sizes or len(self.find_written_sizes()) == len("MNK"))
        raise _NoneRight(message, self.list_attempts(tries, named, endless == _MOST_ENDLESS))

    def describe_wrong_launch(self, trials: _Trials, found: _Found, shapes: Sequence[Shape]) -> str:
        """What is wrong with the launch in the file for a kernel that is right otherwise; "" if that is not sure.

        It is not where several launches differ, nor where the sizes of the grid are those of one problem.
        """
        launches = find_launches(self.file.source, self.kernel.name)
        if (
            found.fixed
            or len(self.sizes) < 2
            or len({(each.grid, each.block, each.arguments) for each in launches}) != 1
        ):
            return ""
        readings = self.geometries[: 2 if self.shared_names else 1]
        roles = self.read_pointers(found.roles)
        if roles == found.roles and (self.shared_names or found.geometry is readings[0]):
            return ""
        assigned = [roles]
        if roles != found.roles and not self.are_sizes_passed_by_name():  # C^T is B^T A^T
            assigned.append(_exchange_rows_and_columns(roles))
        for each, geometry in itertools.product(assigned, readings):
            if not self.is_known(geometry.grid) or not _grows(geometry.grid, each):
                return ""
            right = [set(trials.run(each, geometry, shape, beta=found.beta)) for shape in shapes]
            if set.intersection(*right):
                return ""
        wrong = replace(found, roles=roles, geometry=readings[0] if roles == found.roles else found.geometry)
        try:
            parts = zip(_describe_launch(self, wrong), _describe_launch(self, found), strict=True)
        except Undecidable:
            return ""
        differing = [pair for pair in parts if pair[0] != pair[1]]
        if not differing:
            return ""
        line = self.file.source.places.find(launches[0].start)[1]
        said, right_with = ("; ".join(pair[place] for pair in differing) for place in (0, 1))
        return f"as launched at line {line} it is wrong: {said}; right with {right_with}"

    def are_sizes_passed_by_name(self) -> bool:
        """Whether the launch calls M and N what the kernel calls them."""
        given = self.launch.arguments if self.launch else ()
        pairs = [(slot.name, given[slot.parameter]) for slot in self.sizes if slot.parameter < len(given)]
        named = [(name_size(name), name_size(text)) for name, text in pairs]
        return {("M", "M"), ("N", "N")} <= set(named)

    def read_pointers(self, roles: Roles) -> Roles:
        """The roles of the slots, if the launch passes A, B and C in another order than the kernel names them."""
        given = self.launch.arguments if self.launch else ()
        slots = {n: slot for n, slot in enumerate(self.slots) if roles[n] in ("A", "B", "C") and not slot.field}
        if len(slots) < len("ABC") or any(slot.parameter >= len(given) for slot in slots.values()):
            return roles
        called = {name_operand(slot.name): roles[n] for n, slot in slots.items()}
        passed = {n: name_operand(given[slot.parameter]) for n, slot in slots.items()}
        if set(called) != set("ABC") or set(passed.values()) != set("ABC"):
            return roles
        return {**roles, **{n: called[name] for n, name in passed.items()}}

    def list_attempts(self, tries: Sequence[_Tried], named: bool, is_endless: bool) -> list[Attempt]:
        """What may be meant, the likeliest first: launches of the likeliest roles, then other roles.

        Where names and launch say it all, or the block and tiles in the text of the kernel, nothing else is.
        """
        if not tries:
            return []
        likeliest = tries[0].found
        meant = self.geometries[0] if self.launch else None
        if named and not meant and not is_endless:
            meant = self.find_tile_launch(likeliest.roles)
        if named and self.shared_names and not is_endless:
            readings = [each for each in tries if each.found.roles == likeliest.roles]
            readings = [each for each in readings if each.found.geometry in self.geometries[:2]]
            settled = [replace(each, found=replace(each.found, storage=("nn", "row"))) for each in readings]
            return self.make_attempts(settled, is_meant=False)
        if named and (meant or is_endless):
            chosen = replace(likeliest, geometry=meant or likeliest.geometry, storage=("nn", "row"))
            return self.make_attempts([replace(tries[0], found=chosen)], is_meant=True)
        complete = [each for each in tries if each.ending == Ending.COMPLETE] or list(tries[:1])
        first = [each for each in complete if each.found.roles == likeliest.roles]
        ordered = [*_choose_best(first), *([] if named else _choose_best(_choose_launches(complete)))]
        return self.make_attempts(ordered, is_meant=False)

    def make_attempts(self, tries: Sequence[_Tried], is_meant: bool) -> list[Attempt]:
        attempts = list[Attempt]()
        with _Trials(self) as trials:
            for each in tries:
                found = each.found
                if each.right < _MOSTLY_RIGHT:
                    found = replace(found, storage=("nn", "row"))
                results = list[TriedResult]()
                if each.ending == Ending.COMPLETE:
                    results = trials.collect(found, each.shapes)
                    found.reads_c = trials.needs_c(found, each.shapes[0])
                found.multiples = self.list_tile_multiples(found)
                with contextlib.suppress(Undecidable):
                    text, arguments = _write_manifest(self.file, self, found), ", ".join(_write_arguments(self, found))
                    attempt = Attempt(
                        text,
                        self.kernel.symbol,
                        _summarise(self, found),
                        f"args [{arguments}]",
                        is_meant,
                        each.right,
                        tuple(results),
                    )
                    if text not in [other.text for other in attempts]:
                        attempts.append(attempt)
        return attempts

    def list_tile_multiples(self, found: _Found) -> dict[str, int]:
        """What M, N and K are multiples of if the text of the kernel compares them with nothing."""
        if found.fixed or len(self.sizes) == 1:
            return {}
        square = _SQUARE_TILE.search(self.body)
        tile, multiples = self.named.get("TILE", int(square[1]) if square else 0), dict[str, int]()
        for name, role in (("M", "BM"), ("N", "BN"), ("K", "BK")):
            step = self.named.get(role, tile)
            multiples |= {name: step} if step and not self.list_compared(found, name) else {}
        return multiples

    def list_compared(self, found: _Found, size: str) -> list[str]:
        """What the text of the kernel compares with a size, except in the heads of its loops."""
        text = re.sub(r"\bfor\s*\([^;]*;[^;]*;", "", self.body)
        words = [re.escape(slot.name) for number, slot in enumerate(self.slots) if found.roles[number] == size]
        return [
            each for word in words for each in re.findall(rf"([^;{{}}?&|=<>]*)(?:[<>]=?|[!=]=)\s*\(?{word}\b", text)
        ]

    def list_guarded(self, found: _Found) -> list[str]:
        """The sizes with which threads compare an index of their own, as if these could be any."""
        own, known = {"threadIdx"}, 0
        while known < len(own):
            known = len(own)
            pattern = rf"\b(\w+)\s*=(?!=)[^;]*?\b(?:{'|'.join(own)})\b"
            own |= set(re.findall(pattern, self.body))

        def is_guarded(size: str) -> bool:
            return any(own.intersection(re.findall(r"\w+", each)) for each in self.list_compared(found, size))

        return [size for size in "MNK" if is_guarded(size)]

    def find_tile_launch(self, roles: Mapping[int, str]) -> _Geometry | None:
        """A block as its square tiles in shared memory, and one for each tile of C, if that writes all of C.

        For a kernel that is not launched in its file, and no template, so that nothing else can be meant. A square C
        comes last, where a kernel that confuses its sizes writes all.
        """
        tile = _SQUARE_TILE.search(self.body)
        if tile is None or self.kernel.template:
            return None
        side = int(tile[1])
        if side * side > _MOST_THREADS:  # one thread for each element, unless they loop over the tile
            block = _Geometry(_make_tiles("N", side, "M", side), _fix((side, side)), _fix((0,)))
            return block if len(re.findall(r"\bfor\b", self.body)) <= _FEWEST_LOOPS else None
        with _Trials(self) as trials:
            for width, (columns, rows) in itertools.product((2 * side, 4 * side), (("N", "M"), ("M", "N"))):
                launch = _Geometry(_make_tiles(columns, side, rows, side), _fix((side, side)), _fix((0,)))
                if trials.writes_all(roles, launch, (4 * side, width, 4 * side)):
                    return launch
        return None

    def list_unused_pointers(self) -> Roles:
        """What a pointer is that is no operand: null where the code tests for that, else zeros."""
        found = {}
        for number, slot in enumerate(self.slots):
            if slot.kind == "pointer":
                tested = re.search(rf"\b{re.escape(slot.name)}\s*(?:[!=]=|\?|\))", self.body)
                found[number] = "null" if tested else "zeros"
        return found

    def list_written(self) -> list[int]:
        """The pointers to which the kernel assigns by their names: one of three is C, and the others are A and B."""
        slots = [(number, slot) for number, slot in enumerate(self.slots) if slot.kind == "pointer" and not slot.owner]
        assigned = r"\b{}\s*\[[^;{{}}=]*\]\s*(?:[-+*/]?=)(?!=)"
        found = [number for number, slot in slots if re.search(assigned.format(re.escape(slot.name)), self.body)]
        return found if len(slots) == 3 else []

    @property
    def sizes(self) -> list[Slot]:
        return [slot for slot in self.slots if slot.kind == "size"]

    def list_shapes(self) -> list[tuple[dict[str, int], list[Shape]]]:
        """Problems to try on, the likeliest first, with the sizes that are fixed: those that are in the text."""
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
                raise Undecidable(f"takes no sizes, and those in its text, such as {largest}, are too large to try")
            return [({}, usual)]
        return [pinned, ({}, usual)] if self.sizes else [pinned]

    def choose_shapes(self) -> list[Shape]:
        """Three problems whose sizes are multiples of the tiles; M, N and K differ unless there is a single size.

        Each is the smallest once: a grid of M or K blocks is too large elsewhere for one of N, but right.
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
        """M, N and K that macros and constants of the file define and the kernel uses, unless it takes them."""
        taken = {name_size(slot.name) for slot in self.sizes}
        used = self.list_numbers()
        found: dict[str, int] = {}
        for name, text in self.file.written.items():
            size, value = name_size(name), evaluate_constant(text, self.file.written)
            if size in ("M", "N", "K") and size not in taken and value in used:
                found[size] = value
        return found

    def list_numbers(self) -> list[int]:
        """The numbers in the text of the kernel that may be sizes, those of constants among them."""
        written = [int(each) for each in re.findall(r"\b\d{2,4}\b", self.body)]
        named = {**self.file.constants, **self.template.integers}
        written += [int(value) for name, value in named.items() if re.search(rf"\b{name}\b", self.body)]
        return sorted({each for each in written if 8 <= each <= _LARGEST_FIXED}, reverse=True)

    def list_written_shapes(self) -> list[Shape]:
        """The problems that a kernel without sizes may compute: a square one, then those of its largest numbers."""
        numbers = self.list_numbers()[:_MOST_FIXED] or [32]
        others = ((M, N, K) for M, N, K in itertools.product(numbers, repeat=3))
        square = (numbers[0], numbers[0], numbers[0])
        shapes = [square, *sorted(others, key=lambda shape: (-len(set(shape)), -sum(shape)))]
        small = [shape for shape in shapes if math.prod(shape) <= _MOST_PRODUCTS]
        if not small:
            raise Undecidable(f"takes no sizes, and those in its text, such as {numbers[0]}, are too large to try")
        return small

    def measure_tile(self) -> int:
        """The larger side of a tile, by how the grid of the launch grows; 0 if it is not known."""
        if not self.launch or self.is_fixed(self.follow_launch(self.launch).grid):
            return 0
        sizes = [number for number, slot in enumerate(self.slots) if slot.kind == "size"]
        roles = {number: "MNK"[place % 3] for place, number in enumerate(sizes)}
        try:
            grid = to_triple(self.geometries[0].grid(dict.fromkeys("MNK", 4096), roles))
        except UnknownValue:
            return 0
        return max((4096 // count for count in grid if 1 < count <= 512), default=0)


def _exchange_rows_and_columns(roles: Roles) -> Roles:
    return {number: {"M": "N", "N": "M"}.get(role, role) for number, role in roles.items()}


def _grows(rule: Rule, roles: Roles) -> bool:
    """Whether a grid depends on the sizes."""
    try:
        return rule(dict.fromkeys("MNK", 1024), roles) != rule(dict.fromkeys("MNK", 4096), roles)
    except UnknownValue:
        return False


def _exchange(rule: Rule) -> Rule:
    def exchanged(sizes: Sizes, roles: Mapping[int, str]) -> Value:
        x, y, z = to_triple(rule(sizes, roles))
        return y, x, z

    return exchanged


def _join_axes(along_x: Rule, along_y: Rule) -> Rule:
    """The grid with the x of one rule and the y of another."""

    def joined(sizes: Sizes, roles: Mapping[int, str]) -> Value:
        x, _, z = to_triple(along_x(sizes, roles))
        return x, to_triple(along_y(sizes, roles))[1], z

    return joined


def _fix(value: Value) -> Rule:
    return lambda sizes, roles: value


def _count_elements(threads: int) -> Rule:
    return lambda sizes, roles: -(-sizes["M"] * sizes["N"] // threads)


def _make_tiles(columns: str, width: int, rows: str, height: int) -> Rule:
    return lambda sizes, roles: (-(-sizes[columns] // width), -(-sizes[rows] // height))


_FEWEST_LOOPS = 2
"""Those over tiles and over the products of one."""
_SQUARE_TILE = re.compile(r"__shared__[^;]{0,80}\[\s*(\d{1,2})\s*\]\s*\[\s*\1\s*\]")


@dataclass(frozen=True)
class _Tried:
    """A combination, on which problems it was to be tried, the share of right elements on the first, and its ending."""

    found: _Found
    shapes: Sequence[Shape]
    right: float
    ending: Ending


def _count_combinations(tries: Sequence[_Tried]) -> str:
    return f"{len(tries):,} combination{'s' * (len(tries) != 1)}"


def _choose_launches(tries: Iterable[_Tried]) -> list[_Tried]:
    """For each assignment of roles the launch with which most is right, the likeliest of equal ones."""
    best = dict[object, _Tried]()
    for each in tries:
        key = tuple(sorted(each.found.roles.items()))
        if key not in best or each.right > best[key].right + _MARGIN:
            best[key] = each
    return list(best.values())


def _choose_best(tries: Sequence[_Tried]) -> list[_Tried]:
    """Some with which most is right, the likeliest of equal ones first."""
    return sorted(tries, key=lambda each: -round(each.right / _MARGIN))[:_MOST_ATTEMPTS]


class _Trials:
    """Processes that try the launches of one kernel, one for each problem."""

    def __init__(self, search: _Search):
        self._search = search
        self._opened: dict[object, tuple[TrialProblem, TrialProcess]] = {}
        self.ending = Ending.COMPLETE

    def __enter__(self) -> _Trials:
        return self

    def __exit__(self, *_: object) -> None:
        for problem, process in self._opened.values():
            process.close()
            problem.close()

    def open(self, shape: Shape, roles: Mapping[int, str]) -> tuple[TrialProblem, TrialProcess]:
        slots = self._search.slots
        types = {role: _NUMPY[slots[number].type] for number, role in roles.items() if role in ("A", "B", "C")}
        key = shape, *sorted((name, kind.str) for name, kind in types.items())
        if key not in self._opened:
            problem = TrialProblem(shape, types)
            self._opened[key] = problem, TrialProcess(self._search.program, problem)
        return self._opened[key]

    def launch(
        self,
        roles: Mapping[int, str],
        geometry: _Geometry,
        shape: Shape,
        c: float = 0.25,
        backwards: bool = False,
    ) -> TrialProblem:
        """The problem after a launch; `ending` says how that ended."""
        slots = self._search.slots
        try:
            problem, process = self.open(shape, roles)
        except KeyError:
            raise Undecidable("has matrices of a type that cannot be tried") from None
        values = {**problem.values, **_POINTERS, "alpha": 1.0, "beta": 0.0}
        numbers = tuple(float(values[roles[n]]) if roles[n] in values else float(roles[n]) for n in range(len(slots)))
        problem.reset(c)
        try:
            grid, block, shared = geometry.evaluate(problem.values, roles)
        except UnknownValue:
            self.ending = Ending.CRASH
            return problem
        self.ending = process.run(Trial(grid, block, shared, numbers, backwards))
        return problem

    def run(
        self, roles: Mapping[int, str], geometry: _Geometry, shape: Shape, c: float = 0.25, beta: float = 0.0
    ) -> list[Storage]:
        """The ways to store the matrices for which a launch gives A B + `beta` C; none if it crashes."""
        problem = self.launch(roles, geometry, shape, c)
        return problem.find_storages(beta=beta) if self.ending == Ending.COMPLETE else []

    def list_added(self, roles: Mapping[int, str], shape: Shape) -> list[Storage]:
        """As run, with beta 1, for the launch that was run last."""
        return self.open(shape, roles)[0].find_storages(beta=1.0) if self.ending == Ending.COMPLETE else []

    def judge(
        self, roles: Mapping[int, str], geometry: _Geometry, shape: Shape
    ) -> tuple[list[Storage], float, Storage]:
        """As run, with the share of elements that are right at best, and how the matrices are then stored."""
        problem = self.launch(roles, geometry, shape)
        right, best = problem.find_best_storage()
        if self.ending != Ending.COMPLETE:
            return [], 0.0, best
        return problem.find_storages(), right, best

    def collect(self, found: _Found, shapes: Sequence[Shape]) -> list[TriedResult]:
        """What launches that end compute, first those on problems whose M, N and K differ."""
        results = []
        for shape in sorted(shapes, key=lambda each: -len(set(each))):
            problem = self.launch(found.roles, found.geometry, shape)
            if self.ending == Ending.COMPLETE:
                results.append(problem.copy_result(found.storage, _find_precision(self._search, found)))
        return results

    def needs_c(self, found: _Found, shape: Shape) -> bool:
        """Whether C decides what is written although it has no part in the result: it must then hold numbers.

        What a kernel without beta makes of NaN is its mistake, unless only that is right.
        """
        unwritten = self.launch(found.roles, found.geometry, shape).count_unwritten()
        problem = self.launch(found.roles, found.geometry, shape, c=float("nan"))
        if self.ending != Ending.COMPLETE:
            return False
        spreads = problem.count_unwritten() > unwritten
        return bool(problem.find_storages()) or ("beta" in found.roles.values() and spreads)

    def writes_all(self, roles: Mapping[int, str], geometry: _Geometry, shape: Shape) -> bool:
        """Whether a launch writes every element of C and nothing else."""
        return self.launch(roles, geometry, shape).is_written()

    def explore(self, found: _Found, shape: Shape) -> None:
        """Find what else a manifest says: whether C is read, and of what the sizes must be multiples."""
        if not found.beta:
            found.reads_c = found.storage not in self.run(found.roles, found.geometry, shape, c=float("nan"))
        square = len(set(shape)) == 1
        for name in ["MNK"] if square else "MNK":
            step = self.find_step(found, shape, name)
            if step:
                found.multiples[name] = step
            tested = self._search.list_guarded(found)
            M, N, K = (size + (each in name) for each, size in zip("MNK", shape, strict=True))
            if step > _WIDEST_VECTOR and tested and not self.is_right_with_larger_grid(found, (M, N, K), step):
                del found.multiples[name]  # it means to take any size
                needed = BrokenGuard(tested, f"{'N' if square else name} % {step} == 0")
                found.broken_guards += [(needed, each) for each in self.collect(found, [(M, N, K)])]

    def is_right_with_larger_grid(self, found: _Found, shape: Shape, step: int) -> bool:
        """Whether only the grid of the launch needs multiples of `step`, as one that rounds down does."""

        def round_up(sizes: Sizes, roles: Mapping[int, str]) -> Value:
            return found.geometry.grid({name: -(-size // step) * step for name, size in sizes.items()}, roles)

        larger = replace(found.geometry, grid=round_up)
        return found.storage in self.run(found.roles, larger, shape, beta=found.beta)

    def find_step(self, found: _Found, shape: Shape, names: str) -> int:
        """The smallest step of these sizes for which the kernel is right; 0 if none is known."""
        for step in (1, 2, 4, 8, 16, 32, 64, 128, 256):
            grown = [size + step * (name in names) for name, size in zip("MNK", shape, strict=True)]
            changed = (grown[0], grown[1], grown[2])
            if found.storage in self.run(found.roles, found.geometry, changed, beta=found.beta):
                return step
        return 0


_CONVERSIONS = {"unsigned", "long", "size_t", "short", "ushort", "bool", "char", "uchar"}
_ZEROS = "8 * M * N"
_PRECISIONS = {"float32": "f32", "float64": "f64"}
_FLIPPED = {"n": "t", "t": "n"}


def _write_manifest(file: _File, search: _Search, found: _Found) -> str:
    """The text of the manifest."""
    layout, storage = found.storage
    lines = [
        "# Found by trying on the CPU device.",
        f"summary: {quote_text(search.kernel.name)}",
        "order: 100",
        f"file: {quote_text(os.path.relpath(follow_links(file.path), follow_links(file.home)))}",
    ]
    lines += [f"include: [{', '.join(map(quote_text, file.include))}]"] if file.include else []
    lines += ["define:", *(f"  {name}: {value}" for name, value in file.macros.items())] if file.macros else []
    template = ", ".join(search.template.texts)
    lines.append(f"symbol: {search.kernel.symbol}{template and f'<{template}>'}")
    lines += ["args:", *(f"  - {text}" for text in _write_arguments(search, found))]
    lines.append(f"precisions: [{_find_precision(search, found)}]")
    if storage == "column":  # the names are then those of column-major matrices
        layout = "".join(_FLIPPED[letter] for letter in layout)
    lines.append(f"layouts: [{layout}]")
    lines += ["storage: column"] if storage == "column" else []
    if "zeros" in found.roles.values():  # for a kernel that adds what is there
        lines += [f"workspace: {_ZEROS}", f"zeroed: {_ZEROS}"]
    lines += _write_requirements(search, found)
    rules = {"grid": found.geometry.grid, "block": found.geometry.block}
    for key, rule in rules.items():
        lines += [f"{key}:", *(f"  - {text}" for text in _write_rule(rule, found.roles))]
    shared = _write_rule(found.geometry.shared, found.roles)[0]
    lines += [f"shared: {shared}"] if shared != "0" else []
    lines += ["reads_c: true"] if found.reads_c else []
    return "\n".join(lines) + "\n"


def _write_arguments(search: _Search, found: _Found) -> list[str]:
    precision = _find_precision(search, found)
    sums = "double" if precision == "f64" else "half" if precision == "f16_f16" else "float"
    texts = dict[int, list[tuple[str, str]]]()
    for slot, role in zip(search.slots, _list_roles(found), strict=True):
        text = "workspace" if role == "zeros" else role
        if slot.kind == "size" and slot.type in _CONVERSIONS:
            text = f"{slot.type}({role})"
        if slot.kind == "scalar" and slot.type != sums:
            text = f"{slot.type}({role})"
        texts.setdefault(slot.parameter, []).append((slot.field, text))
    return [
        f"{{{', '.join(f'{name}: {text}' for name, text in fields)}}}" if fields[0][0] else fields[0][1]
        for fields in texts.values()
    ]


def _list_roles(found: _Found) -> list[str]:
    return [found.roles[number] for number in range(len(found.roles))]


def _find_precision(search: _Search, found: _Found) -> str:
    kinds = {
        role: _NUMPY[slot.type].name
        for slot, role in zip(search.slots, _list_roles(found), strict=True)
        if role in "ABC"
    }
    if kinds["A"] == "float16":
        sums_in_float = re.search(r"\bfloat\s+\w+\s*(?:=|\[)", search.body) is not None
        return "f16_f32" if kinds["C"] == "float32" else "f16" if sums_in_float else "f16_f16"
    return _PRECISIONS[kinds["A"]]


def _write_requirements(search: _Search, found: _Found) -> list[str]:
    lines = [f"  - {name} == {found.fixed[name]}" for name in "MNK" if name in found.fixed]
    if not lines and ("MNK" in found.multiples or len(search.sizes) == 1):
        lines.append("  - M == N and K == N")
    for names, step in found.multiples.items():
        if step > 1 and names not in found.fixed:
            lines.append(f"  - {'N' if len(names) > 1 else names} % {step} == 0")
    return ["require:", *lines] if lines else []


def _list_sizes(search: _Search, found: _Found) -> str:
    """Sizes that meet the requirements, M, N and K different where they may be; "" if there are none."""
    if not _write_requirements(search, found):
        return ""
    if found.fixed:
        return "x".join(map(str, found.shape))
    steps = [found.multiples.get(name) or found.multiples.get("MNK") or 1 for name in "MNK"]
    common = max(128, *steps)
    square = len(search.sizes) == 1
    return str(3 * common) if square else "x".join(str(common * factor) for factor in (4, 2, 3))


_SAMPLES = ((512, 1024, 256), (1536, 768, 512), (1000, 700, 300), (130, 260, 70))
_STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def _write_rule(rule: Rule, roles: Mapping[int, str]) -> list[str]:
    """The sizes of a grid or block as expressions of a manifest. Raises Undecidable for other rules.

    Those of a kernel with a single size need be right only for squares.
    """
    try:
        return _write_rule_for(rule, roles, _SAMPLES)
    except Undecidable:
        if len({role for role in roles.values() if role in tuple("MNK")}) > 1:
            raise
        return _write_rule_for(rule, roles, [(side, side, side) for side, _, _ in _SAMPLES])


def _write_rule_for(rule: Rule, roles: Mapping[int, str], shapes: Sequence[Shape]) -> list[str]:
    samples = []
    for shape in shapes:
        sizes = dict(zip("MNK", shape, strict=True))
        with contextlib.suppress(UnknownValue):
            samples.append((sizes, to_triple(rule(sizes, roles))))
    texts = [_write_axis([(sizes, counts[axis]) for sizes, counts in samples]) for axis in range(3)]
    while len(texts) > 1 and texts[-1] == "1":
        texts.pop()
    return texts


def _is_usual(geometry: _Geometry, roles: Mapping[int, str]) -> bool:
    """Whether a manifest can say the grid and the block."""
    try:
        return all(_write_rule(rule, roles) for rule in (geometry.grid, geometry.block, geometry.shared))
    except Undecidable:
        return False


def _write_axis(samples: Sequence[tuple[Mapping[str, int], int]]) -> str:
    if len({count for _, count in samples}) == 1:
        return str(samples[0][1])
    for text in _list_expressions():
        expression = parse(text, tuple("MNK"))
        if all(expression.value(sizes) == count for sizes, count in samples):
            return text
    raise Undecidable("has a grid that is no usual function of M, N and K")


def _list_expressions() -> Iterable[str]:
    for name, step in itertools.product("MNK", _STEPS):
        yield name if step == 1 else f"cdiv({name}, {step})"
    for name, step in itertools.product("MNK", _STEPS[1:]):
        yield f"{name} // {step}"
        yield f"({name} + {step}) // {step}"
    for name, step in itertools.product("MNK", _STEPS[1:]):
        yield from (f"cdiv({name}, {inner}) // {step}" for inner in (8, 16, 32))
    yield from (f"cdiv(M * N, {step})" for step in (*_STEPS, 1024))
    yield from (f"{factor} * {name}" for name, factor in itertools.product("MNK", (*_STEPS[1:], 3, 6, 12, 1024)))
    for (name, step), (other, side) in itertools.product(itertools.product("MNK", _STEPS), repeat=2):
        yield f"cdiv({name}, {step}) * cdiv({other}, {side})"


def _describe_launch(search: _Search, found: _Found) -> list[str]:
    """Arguments, grid and block. Raises Undecidable."""
    grid, block = (_write_rule(rule, found.roles) for rule in (found.geometry.grid, found.geometry.block))
    arguments = ", ".join(_write_arguments(search, found))
    return [f"args [{arguments}]", f"grid [{', '.join(grid)}]", f"block [{', '.join(block)}]"]


def _summarise(search: _Search, found: _Found) -> str:
    """Arguments, grid, block, and what it needs, in one line."""
    needs = [text.removeprefix("  - ") for text in _write_requirements(search, found)[1:]]
    macros = ", ".join(f"{name} = {value}" for name, value in search.file.macros.items())
    parts = [f"with {macros}"] if macros else []
    parts += [f"template <{', '.join(search.template.texts)}>"] if search.template.texts else []
    parts += _describe_launch(search, found)
    parts += [] if found.storage == ("nn", "row") else [_describe_storage(found.storage)]
    parts += [f"needs {' and '.join(needs)}"] if needs else []
    return "; ".join(parts)


def _describe_storage(storage: Storage) -> str:
    """How A, B and C are stored, such as `A and B by rows, C by columns`."""
    layout, of_c = storage
    by = dict(zip("ABC", (*("rows" if letter == "n" else "columns" for letter in layout), f"{of_c}s"), strict=True))
    groups = {way: [name for name in "ABC" if by[name] == way] for way in ("rows", "columns")}
    lists = {
        way: " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) for way, names in groups.items() if names
    }
    return ", ".join(f"{names} by {way}" for way, names in lists.items())
