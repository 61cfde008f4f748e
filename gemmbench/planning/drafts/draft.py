"""Drafts the manifest of a file from its code, with `# check` where it guesses."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.drafts.declarations import (
    Function,
    LaunchSite,
    Parameter,
    TemplateParameter,
    find_launch,
    is_launched,
    read_functions,
)
from gemmbench.planning.drafts.guesses import (
    SQUARE,
    Guess,
    Names,
    guess_arguments,
    guess_block,
    guess_grid,
    guess_requirements,
    guess_shared_scales,
    guess_value,
    name_params,
)
from gemmbench.planning.drafts.scanning import hide_comments, read_constants
from gemmbench.planning.files import display_path, is_file
from gemmbench.planning.manifests.expressions import DEVICE_NAMES, PROBLEM_NAMES
from gemmbench.planning.manifests.variant import GROUPS
from gemmbench.planning.precisions import PRECISIONS, resolve_precision
from gemmbench.planning.problems import OFFSETS, SCALED

if TYPE_CHECKING:  # `list` needs no NumPy
    import numpy as np

_WANTED = ("A", "B", "C", "M", "N", "K")


def _list_candidates(functions: Sequence[Function]) -> list[Function]:
    """Return the kernels of a file, and its launchers, which are host functions that take a stream."""
    return [each for each in functions if each.is_kernel or _is_launcher(each)]


def _choose_function(functions: Sequence[Function], text: str, symbol: str | None, location: str) -> Function:
    """Return the function called `symbol`, or else the best one. Raises UsageError if there is none."""
    candidates = _list_candidates(functions)
    names = [each.name for each in candidates]
    if not candidates:
        fault = "no kernel and no launcher: no `__global__` function, and none that takes a cudaStream_t"
        raise UsageError(f"{location}: {fault}; name the file that defines one")
    if symbol is None:
        return max(candidates, key=lambda each: _count_evidence(each, text))
    if symbol not in names:
        raise UsageError(f"{location}: no function '{symbol}'{nearest(symbol, names)}; it has {', '.join(names)}")
    return candidates[names.index(symbol)]


def _is_launcher(function: Function) -> bool:
    return not function.is_device_function and any("Stream" in each.type for each in function.parameters)


def _count_evidence(function: Function, text: str) -> tuple[int, bool, bool]:
    """Return the number of GEMM arguments, and whether the launch is known. A launcher launches by itself."""
    guesses = guess_arguments(function, {})
    known = {guess.text.partition("(")[2].rstrip(")") or guess.text for guess in guesses if not guess.doubt}
    launched = not function.is_kernel or is_launched(text, function.name)
    return len(known.intersection(_WANTED)), launched, function.is_kernel


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_PACKAGES = {"cutlass": ("cutlass/", "cute/"), "cublas": ("cublas",)}
_MOSTHEADERS = 100
"""The most distinct headers to look for."""
_FURTHEST = 3
"""The number of parent folders in which to look for headers."""


def find_include_items(text: str, path: Path, home: Path) -> list[str]:
    """Return the items of `include`: folders relative to `home`, and packages. Headers next to the file need none."""
    written = dict.fromkeys(quoted or angled for quoted, angled in _INCLUDE.findall(text))
    found = list(written)[:_MOSTHEADERS]
    packages = [name for name, heads in _PACKAGES.items() if any(header.startswith(heads) for header in found)]
    folders = dict.fromkeys(_find_folder(header, path.parent.resolve()) for header in found)
    return [*(os.path.relpath(folder, home.resolve()) for folder in folders if folder), *packages]


def _find_folder(header: str, beside: Path) -> Path | None:
    """Find the folder with a header among parent folders and their subfolders.

    Returns None if it is not found, or if the header is already in `beside`.
    """
    if is_file(beside / header):
        return None
    above = [beside, *beside.parents][:_FURTHEST]
    folders = (folder for each in above for folder in (each, *sorted(each.glob("[!.]*"))))
    return next((folder for folder in folders if is_file(folder / header)), None)


_TESTS_BETA = re.compile(r"\bbeta\s*(?:==|!=|\?|>|<)|\(\s*(?:!\s*)?beta\s*\)|[=!]=\s*beta\b")
_MULTIPLIES_BETA = re.compile(r"\bbeta\s*\*|\*=?\s*beta\b")
_COLUMN_MAJOR = re.compile(
    r"\[\s*(?:\(\s*)?(?:i|row|m)\s*(?:\)\s*)?\+\s*(?:\(\s*)?(?:j|col|k|n)\s*(?:\)\s*)?\*\s*(?:\(\s*)?ld|\bldc?\s*=\s*M\b|\blda\s*=\s*M\b"
)


@dataclass(frozen=True)
class Facts:
    """A function, its launch in the file, and what follows from its declaration.

    `types` are the types of its template by their names in the code. `params` maps the names of its template's integers
    to their names in the manifest. With `reads_c`, C is read even if beta is 0.
    """

    function: Function
    site: LaunchSite | None
    types: dict[str, str]
    params: dict[str, str]
    arguments: list[Guess]
    names: Names
    column_major: bool
    reads_c: bool

    @property
    def precision(self) -> str:
        """The precision of A; "" if its type has none."""
        pairs = zip(self.function.parameters, self.arguments, strict=True)
        found = [self.types.get(parameter.type, parameter.type) for parameter, guess in pairs if guess.text == "A"]
        name = resolve_precision(found[0]) if found else ""
        return name if name in PRECISIONS else ""

    def list_integers(self) -> Iterator[tuple[str, str]]:
        """Yield the integers of the template: their names in the manifest, and their launch or default values."""
        written = _zip_template(self.function, self.site)
        for each in self.function.template:
            if not each.is_type:
                yield self.params[each.name], written.get(each.name, each.default)


def _read_facts(function: Function, text: str) -> Facts:
    """Read what the text of a file says about one of its functions."""
    code = hide_comments(text)
    site = find_launch(text, function.name) if function.is_kernel else None
    written = _zip_template(function, site)
    types = {each.name: written.get(each.name, "") for each in function.template if each.is_type}
    types = {name: kind if resolve_precision(kind) in PRECISIONS else "float" for name, kind in types.items()}
    params = name_params(function, (*PROBLEM_NAMES, *DEVICE_NAMES))
    arguments = guess_arguments(function, types)
    names = _read_names(function, site, code, arguments, params)
    column_major = _COLUMN_MAJOR.search(code) is not None
    return Facts(function, site, types, params, arguments, names, column_major, _reads_c(function, code))


def _reads_c(function: Function, code: str) -> bool:
    """Return whether a kernel or a function that it calls multiplies by beta without testing whether it is 0."""
    text = function.body if _MULTIPLIES_BETA.search(function.body) else code
    used = function.is_kernel and re.search(r"\bbeta\b", function.body)
    return bool(used and _MULTIPLIES_BETA.search(text) and not _TESTS_BETA.search(text))


def _zip_template(function: Function, site: LaunchSite | None) -> dict[str, str]:
    """Return the template arguments that a launch passes."""
    return dict(zip((each.name for each in function.template), site.template if site else (), strict=False))


def _read_names(
    function: Function, site: LaunchSite | None, code: str, arguments: Sequence[Guess], params: dict[str, str]
) -> Names:
    """Return the names in the code for sizes, parameters and constants. A launch may use different names."""
    found = {each.name: _find_size(guess) for each, guess in zip(function.parameters, arguments, strict=True)}
    sizes = {name: size for name, size in found.items() if size}
    if site is None:
        return Names(sizes, params, _read_tile(function.name) | read_constants(code))
    sizes |= _rename(site.arguments, function.parameters, sizes)
    params = params | _rename(site.template, function.template, params)
    return Names(sizes, params, site.constants)


def _find_size(guess: Guess) -> str:
    """Return M, N or K if an argument is that size, with or without a conversion; else ""."""
    found = re.fullmatch(r"(?:\w+\()?([MNK])\)?", guess.text)
    return found[1] if found else ""


def _read_tile(name: str) -> dict[str, str]:
    """Read BM, BN and BK from the name of a kernel such as `sgemm_128x64x8`."""
    found = re.search(r"(?<!\d)(\d+)x(\d+)x(\d+)", name)
    return dict(zip(("BM", "BN", "BK"), found.groups(), strict=True)) if found else {}


def _rename(
    written: Sequence[str], declared: Sequence[Parameter | TemplateParameter], names: dict[str, str]
) -> dict[str, str]:
    """Return the names in a launch that differ from those in the kernel's declaration."""
    pairs = zip(written, (each.name for each in declared), strict=False)
    return {text: names[name] for text, name in pairs if name in names and re.fullmatch(r"[A-Za-z_]\w*", text)}


MARK = "# check"
HEAD = "# A draft by `gemmbench new`: check the lines marked `check`, then remove the marks."
_WIDEST = 100
_MULTIPLES, _SQUARE_SIZE = "512x256x384", "384"
"""Multiples of most tiles. The three sizes differ, because some mistakes show only then."""
_PLAIN = re.compile(r"[\w./+-]+(?: [\w./+-]+)*")


@dataclass(frozen=True)
class Draft:
    """The text of a manifest, the function that it launches, and the other functions it could launch.

    `sizes` are sizes that meet its requirements; "" if there are no requirements.
    """

    text: str
    symbol: str
    others: tuple[str, ...]
    sizes: str

    @property
    def doubts(self) -> int:
        """The number of marked lines."""
        return sum(MARK in line for line in self.text.splitlines())

    @property
    def is_sure(self) -> bool:
        """Whether the code determines everything except the storage of the matrices, which verification finds out."""
        return all(line.startswith("layouts: ") for line in self.text.splitlines() if MARK in line)


@dataclass(frozen=True)
class TriedResult:
    """The result of a launch: M, N and K, and A, B and C as stored. Elements that were not written are NaN.

    `layout` and `storage` (row or column) say how the matrices are stored. `is_inside` means that the launch wrote only
    to C.
    """

    sizes: tuple[int, int, int]
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    precision: str
    layout: str
    storage: str
    is_inside: bool


@dataclass(frozen=True)
class Attempt:
    """A manifest with a wrong result: its text, its kernel, and a line with its arguments and launch.

    `arguments` are only their roles. `is_meant` means that names and the launch determine all roles. `right` is the
    share of correct elements in the first of the `results`.
    """

    text: str
    kernel: str
    summary: str
    arguments: str
    is_meant: bool
    right: float
    results: tuple[TriedResult, ...]


@dataclass(frozen=True)
class BrokenGuard:
    """A guard that suggests a kernel takes any size, and the requirement without which the kernel is wrong."""

    tested: Sequence[str]
    needed: str


@dataclass(frozen=True)
class FoundManifest:
    """A manifest that was right on several problems: its text, its kernel, and how it was found.

    `summary` gives arguments, grid and block in one line. `others` are other kernels in the file. `sizes` are sizes
    that meet its requirements; "" if there are none. `broken_guards` are not among these requirements: each says what
    is computed if it is not met. `attempts` were wrong with other usual template arguments. `wrong_launch` says what is
    wrong with the file's own launch of the kernel, if that is known; else "". `by_columns` are those of A, B and C that
    are stored by columns, if others are stored by rows.
    """

    text: str
    kernel: str
    summary: str
    tries: int
    seconds: float
    others: tuple[str, ...]
    sizes: str
    broken_guards: tuple[tuple[BrokenGuard, TriedResult], ...] = ()
    attempts: tuple[Attempt, ...] = ()
    wrong_launch: str = ""
    by_columns: str = ""


class NotFound(Exception):
    """No manifest was found, for the reasons of the kernels.

    `unsupported` is the reason of a kernel that needs a GPU, else "". `attempts` are manifests of one kernel that may
    be meant, the likeliest first. `compiler_error` is what the compiler says about the text of the file, with the line;
    "" if that is not the reason.
    """

    def __init__(
        self, message: str, unsupported: str = "", attempts: Sequence[Attempt] = (), *, compiler_error: str = ""
    ):
        super().__init__(message)
        self.unsupported, self.attempts, self.compiler_error = unsupported, attempts, compiler_error


def draft_manifest(text: str, path: Path, home: Path, symbol: str | None = None) -> Draft:
    """Draft the manifest of the code in `path`. `home` is the folder of the manifest.

    Raises UsageError if the code has no function to launch, or none called `symbol`.
    """
    functions = read_functions(text)
    function = _choose_function(functions, text, symbol, display_path(path))
    others = tuple(each.name for each in _list_candidates(functions) if each is not function)
    file, facts = os.path.relpath(path.resolve(), home.resolve()), _read_facts(function, text)
    lines = list(_write_manifest(facts, file, find_include_items(text, path, home)))
    sizes = _MULTIPLES if _list_requirements(facts) else ""
    return Draft("\n".join(lines) + "\n", function.name, others, _SQUARE_SIZE if _is_square(facts) else sizes)


def _write_manifest(facts: Facts, file: str, includes: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the manifest."""
    function = facts.function
    yield from (HEAD, f"summary: {quote_text(function.name)}", f"file: {quote_text(file)}")
    yield from _write_list("include", [Guess(quote_text(each)) for each in includes])
    yield _wrap(f"{'symbol' if function.is_kernel else 'host'}: {_write_symbol(facts)}")
    yield from _write_list("args", [Guess(_quote_argument(each.text), each.doubt) for each in facts.arguments])
    yield from _write_problem(facts)
    yield from _write_params(facts)
    yield from _write_list("require", _list_requirements(facts), flow=False)
    if function.is_kernel:
        yield from _write_launch(facts)
    if facts.reads_c:
        yield "reads_c: true  # the code does not test whether beta is 0"


def _write_symbol(facts: Facts) -> str:
    """Return the name of the function, including template arguments."""
    parts = [facts.types.get(each.name) or facts.params[each.name] for each in facts.function.template]
    return f"{facts.function.name}<{', '.join(parts)}>" if parts else facts.function.name


def _write_problem(facts: Facts) -> Iterator[str]:
    """Yield the precision of A and how the matrices are stored."""
    taken = {guess.text for guess in facts.arguments}
    if not facts.precision:
        yield f"precisions: [f32]  {MARK}: the type of A"
    elif taken & {*SCALED}:
        shared = guess_shared_scales(facts.function, facts.arguments)
        others = ", ".join(f"or _{each}" for each in ("tensor", "rows", "blocks") if each != shared)
        yield f"precisions: [{facts.precision}_{shared}]  {MARK}: {others}, by what shares a scale"
    else:
        yield f"precisions: [{facts.precision}]"
    yield f"layouts: [nn]  {MARK}: neither A nor B is transposed"
    if OFFSETS in taken:
        yield f"kinds: [{GROUPS}]"
    if facts.column_major:
        yield f"storage: column  {MARK}: an index multiplies its second term by the leading dimension"


def _write_params(facts: Facts) -> Iterator[str]:
    """Yield the values of the template's integers."""
    integers = list(facts.list_integers())
    yield from ["params:"] if integers else []
    for name, written in integers:
        value = guess_value(name, written, facts.names.constants)
        yield f"  {name}: [{value.text}]{_write_mark(value)}"


def _list_requirements(facts: Facts) -> list[Guess]:
    """List the conditions on the problem."""
    square = [Guess("M == N and K == N")] * _is_square(facts)
    if not facts.function.is_kernel:
        return square
    guesses = guess_requirements(facts.function, facts.names)
    known = {guess.text for guess in guesses}
    grid = guess_grid(facts.function, facts.site, facts.names, facts.column_major)
    floored = [found for each in grid if (found := _FLOORED.fullmatch(each.text))]
    texts = dict.fromkeys(f"{found[1]} % {found[2]} == 0" for found in floored)
    return square + guesses + [Guess(text, "its grid rounds down") for text in texts if text not in known]


_FLOORED = re.compile(r"([MNK]) // (\w+)")
"""A line of a grid that rounds down and so leaves out the remainder."""


def _is_square(facts: Facts) -> bool:
    """Return whether the function has only one size."""
    return any(each.doubt == SQUARE for each in facts.arguments)


def _write_launch(facts: Facts) -> Iterator[str]:
    """Yield the grid, the block and the dynamic shared memory."""
    function, site, names = facts.function, facts.site, facts.names
    yield from _write_list("grid", guess_grid(function, site, names, facts.column_major), flow=False)
    yield from _write_list("block", guess_block(function, site, names), flow=False)
    shared = names.translate(site.shared) if site else "0"
    if shared is None or (shared == "0" and "extern __shared__" in function.body):
        yield f"shared: 0  {MARK}: bytes of dynamic shared memory"
    elif shared != "0":
        yield f"shared: {shared}"


def _write_list(key: str, items: Sequence[Guess], flow: bool = True) -> Iterator[str]:
    """Yield a list on one line if no item is marked, or else one line per item. An empty list yields nothing."""
    line = f"{key}: [{', '.join(item.text for item in items)}]"
    if not items:
        return
    if len(line) <= _WIDEST and not any(item.doubt for item in items) and (flow or "," not in line):
        yield line
        return
    yield f"{key}:"
    for item in items:
        yield f"  - {item.text}{_write_mark(item)}"


def _write_mark(guess: Guess) -> str:
    doubt = "its only size: are all three equal?" if guess.doubt == SQUARE else guess.doubt
    return f"  {MARK}: {doubt}" if doubt else ""


def _wrap(line: str) -> str:
    """Split a long line into several lines that YAML reads as one."""
    return textwrap.fill(line, _WIDEST, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _quote_argument(text: str) -> str:
    return f'"{text}"' if text.startswith("&") else text


def quote_text(text: str) -> str:
    """Quote text so that YAML reads it back unchanged."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
