"""Watches every access of a kernel with hooks in its executable, and finds the source lines of faults.

The compiler inserts a call of a hook at each load and store. The hooks are in prelude/watch. All blocks run in order in
one process, behind the same walls as all kernels. If operands are large, only a few blocks run, to find indices that
overflow. Their memory is mostly reserved but not used. The hooks also count what accesses would cost on a GPU.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gemmbench.analysis.accesses import READINGS, Access, AccessCounts, Cost, merge_accesses
from gemmbench.analysis.toolkit import run_limited
from gemmbench.backends.base import Watched
from gemmbench.backends.cpu import walls
from gemmbench.backends.cpu.fault_sentences import Operand, Place, describe_faults
from gemmbench.backends.cpu.kernel_process import KernelProcess
from gemmbench.backends.cpu.translation import PRELUDE_NAME, CpuCompiler
from gemmbench.errors import LaunchError, LaunchTimeout, Unsupported
from gemmbench.planning.manifests.kernel_code import split_template
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems import OFFSETS, SCALED, Problem

_SECONDS, _SAMPLE_SECONDS, _COUNT_SECONDS = 5, 1, 30
"""Time limits in seconds for all blocks of a launch, for a few blocks of a huge one, and for counting.

A hook takes about 20 ns.
"""
_GRACE = 5.0
"""Additional seconds that a process gets to answer."""
_LOOKUP_SECONDS, _LOOKUP_LIMITS = 30.0, walls.Limits(memory=4 << 30, file=0)
_MOST_BYTES = 256 << 20
"""The most bytes of operands for which all blocks run. For larger problems, only a few blocks run."""
_LARGEST_GRANULE = 2
_MOST_THREADS, _MOST_SHARED = 1024, 227 << 10
_ROOM = 1 << 16
"""Bytes around static arrays; see prelude/watch/words.h."""
_NEAR = 4096
_WORKSPACE_ELEMENT, _SCALE = 4, 8
"""Bytes of an element of a workspace, and of a scale that no step reads."""
_ADDR2LINE = "addr2line"


class KernelWatcher:
    """The `Watcher` of the CPU device."""

    def __init__(self, compiler: CpuCompiler):
        self._compiler = compiler

    def watch(self, plan: Plan) -> Watched:
        """See Watcher."""
        _check_watchable(plan)
        path = self._compiler.compile_watched(plan)
        arrays = _read_static_arrays(path)
        operands = _list_operands(plan, arrays)
        granule = min(_LARGEST_GRANULE, *(int(math.log2(each.element)) for each in operands[:3]))
        while True:
            seen = _run(path, plan, arrays, granule)
            if (smallest := int(math.log2(seen["smallest"]))) >= granule:
                break
            granule = smallest  # otherwise, adjacent elements would seem to race
        addresses = {each[key] for each in seen["faults"] for key in ("at", "other")}
        return describe_faults(seen["faults"], _find_places(path, addresses - {0}), operands)

    def count(self, plan: Plan) -> AccessCounts:
        """See Watcher."""
        _check_watchable(plan)
        path = self._compiler.compile_watched(plan)
        if called := _list_called_functions(path, f"{plan.variant.kind}.cpp", plan.symbols or ("gemm",)):
            raise Unsupported(
                f"{called[0]} calls itself or is called through a pointer, so gemmbench cannot see all of its "
                "loads and stores; write it as a loop"
            )
        arrays = _read_static_arrays(path)
        seen = _run(path, plan, arrays, _LARGEST_GRANULE, counts=True)
        reports = [each for each in seen["counts"] if each["written"][0]]
        addresses = {each["at"] for each in (*reports, *seen["faults"])} - {0}
        places = _find_places(path, addresses)
        _check_counted(plan, seen["faults"], places)
        names = [operand.name for operand in _list_operands(plan, arrays)]
        accesses = merge_accesses(_make_access(each, places, names) for each in reports)
        if not accesses:
            raise Unsupported("nothing to count: its blocks do not access operands or shared memory")
        return AccessCounts(accesses, seen["ran"], seen["blocks"])


_ENDS = ("crash", "stuck", "endless")
"""Kinds of faults that stop a launch early."""


def _check_counted(plan: Plan, faults: Sequence[Mapping[str, Any]], places: Mapping[int, Place]) -> None:
    """Raise LaunchError or LaunchTimeout if the launch did not end normally."""
    for fault in faults:
        if fault["kind"] not in _ENDS:
            continue
        place = f"at {places[fault['at']]} " if fault["at"] in places else ""
        if fault["kind"] == "endless":
            raise LaunchTimeout(
                f"{plan.problem.size}: one block takes more than {_COUNT_SECONDS} s to count; choose a smaller --sizes"
            )
        end = "stops at barriers" if fault["kind"] == "stuck" else "crashes"
        raise LaunchError(f"it {end} {place}on the CPU; gemmbench verify {plan.variant.name} explains why")


def _make_access(report: Mapping[str, Any], places: Mapping[int, Place], names: Sequence[str]) -> Access:
    place = places.get(report["at"], Place("", 0))
    costs = {name: Cost(*report[name]) for name in READINGS}
    facts = (report["shared"], report["writes"], report["bytes"], report["used"], report["ragged"] > 0, report["most"])
    return Access(place.file, place.line, names[report["region"]], *facts, costs)


def _check_watchable(plan: Plan) -> None:
    """Raise Unsupported if the plan cannot have hooks or cannot be launched."""
    if not plan.variant.is_kernel or plan.variant.is_host_function:
        raise Unsupported("the CPU device does not launch it itself")
    if not shutil.which(_ADDR2LINE):
        raise Unsupported(f"{_ADDR2LINE}, which finds the lines of faults, is missing; apt-get install binutils")
    for _, geometry in plan.launches:
        if geometry.threads > _MOST_THREADS or geometry.shared > _MOST_SHARED:
            raise Unsupported("its blocks are too large to launch")


_GUARD = "_ZGV"
"""The prefix of a guard's name. A guard is a byte that tells whether an array has been constructed."""


@dataclass(frozen=True)
class _StaticArray:
    """An array in static shared memory, or a guard that the compiler places next to one."""

    name: str
    address: int
    nbytes: int

    @property
    def is_guard(self) -> bool:
        """Whether it is a guard. Accesses to guards are ignored."""
        return self.name.startswith(_GUARD)

    @property
    def room(self) -> int:
        """The number of bytes from the array's start in which an address counts as an attempt to access it."""
        return 0 if self.is_guard else max(self.nbytes, -(-self.nbytes // _ROOM) * _ROOM - _NEAR)


class _WatchedProcess(KernelProcess):
    """A kernel's process that replies with faults instead of times."""

    longest_reply = 1 << 22

    def run(self, command: str, seconds: int) -> dict[str, Any]:
        """Run all launches once, for at most `seconds`, to `watch` or `count`. Raises LaunchError, LaunchTimeout."""
        reply = self._ask(command, str(seconds))
        try:
            seen = json.loads(reply)
            if isinstance(seen, dict) and seen.keys() >= {"smallest", "faults"}:
                return seen
        except ValueError:
            pass
        raise LaunchError("the kernel forged the reply of the runtime that watches it")


def _run(path: Path, plan: Plan, arrays: Sequence[_StaticArray], granule: int, counts: bool = False) -> dict[str, Any]:
    problem, numbers = plan.launched, list[float]()
    sampled = counts or problem.bytes > _MOST_BYTES
    seconds = _COUNT_SECONDS if counts else _SAMPLE_SECONDS if sampled else _SECONDS
    with ExitStack() as held:
        files: list[int] = []
        numbers.append(problem.result.nbytes if problem.separate_c else 0)
        for name in "ABC":
            files.append(_reserve_operand(problem, name) if sampled else _make_operand(problem, name))
            held.callback(os.close, files[-1])
            numbers += [files[-1], problem.operand_bytes(name), _element_bytes(problem, name)]
        element = _element_bytes(problem, "C")
        # Empty, or zeros: a scale of 0 changes no access.
        added = {operand.name: operand.nbytes for operand in problem.operands}
        bias, scale = added.get("bias", problem.N * element), added.get("scale", _SCALE)
        numbers += [-1, bias, element, -1, added.get("residual", 0), element, -1, scale, scale]
        numbers += [-1, plan.workspace, _WORKSPACE_ELEMENT]
        if problem.groups:
            files.append(_write_file(np.array(problem.offsets, np.int32).tobytes()))
            held.callback(os.close, files[-1])
        numbers += [files[-1] if problem.groups else -1, added.get(OFFSETS, 0), 4]
        for name in SCALED:
            numbers += [-1, added.get(name, 0), 4]
        numbers += [_element_bytes(problem, "A"), len(arrays)]
        for array in arrays:
            numbers += [array.address, array.nbytes, array.room]
        scalars = [granule, int(sampled), problem.M, problem.N, problem.K, problem.alpha, problem.beta]
        scalars += [len(plan.arguments), *(each.value for each in plan.arguments)]
        steps = [len(plan.launches)]
        for _, geometry in plan.launches:
            steps += [*geometry.grid, *geometry.block, geometry.shared]
        process = _WatchedProcess(path, " ".join(map(str, [*scalars, *numbers, *steps])), files, seconds + _GRACE)
        held.callback(process.end)
        return process.run("count" if counts else "watch", seconds)


def _make_operand(problem: Problem, name: str) -> int:
    """Return the descriptor of an operand of small integers. A kernel's behaviour may depend on the values."""
    kind = problem.storage(name).numpy_type()
    values = np.random.default_rng(1).integers(-2, 3, problem.operand_bytes(name) // kind.itemsize).astype(kind)
    return _write_file(values.tobytes())


def _write_file(contents: bytes) -> int:
    file = os.memfd_create("gemmbench")
    with open(file, "wb", closefd=False) as stream:
        stream.write(contents)
    return file


def _reserve_operand(problem: Problem, name: str) -> int:
    """Return the descriptor of an operand of zeros. Only pages that are accessed use memory."""
    file = os.memfd_create("gemmbench")
    os.truncate(file, problem.operand_bytes(name))
    return file


def _element_bytes(problem: Problem, name: str) -> int:
    return problem.storage(name).numpy_type().itemsize


def _list_operands(plan: Plan, arrays: Sequence[_StaticArray]) -> list[Operand]:
    """Return the memory regions in the order in which the runtime numbers them."""
    problem = plan.launched
    operands = [_describe_matrix(plan, name) for name in "ABC"]
    operands += [Operand(name, _element_bytes(problem, "C")) for name in ("bias", "residual")]
    operands += [Operand("scale", _SCALE), Operand("the workspace", _WORKSPACE_ELEMENT), Operand(OFFSETS, 4)]
    operands += [Operand(name, 4) for name in SCALED]
    operands.append(_describe_matrix(plan, "D"))
    shared = _element_bytes(problem, "A")
    return [*operands, Operand("dynamic shared memory", shared), *(Operand(each.name, shared) for each in arrays)]


def _describe_matrix(plan: Plan, name: str) -> Operand:
    problem = plan.launched
    element, columns = _element_bytes(problem, name), problem.leading(name)
    if plan.variant.call.column_major:
        return Operand(name, element)
    shape = "" if len(problem.slices) > 1 else f"{problem.stored_shape(name)[0]:,} x {columns:,}"
    return Operand(name, element, columns, shape, partial(problem.locate_row, name))


_ELF_HEADER = struct.Struct("<40xQ10xHHH")
_ELF_SECTION = struct.Struct("<II8xQQQII8xQ")
"""Name, type, address, offset, size, link, info, size of an entry."""
_ELF_SYMBOL = struct.Struct("<IBBHQQ")
"""Name, type, visibility, section, value, size."""
_SYMBOLS, _OBJECT, _FUNCTION, _FILE = 2, 1, 2, 4


@dataclass(frozen=True)
class _Symbol:
    """A symbol of an executable: its mangled name, kind, section, address and size.

    `file` is the source file of a local symbol.
    """

    name: str
    kind: int
    section: str
    address: int
    nbytes: int
    file: str


def _read_symbols(path: Path) -> Iterator[_Symbol]:
    code = path.read_bytes()
    table, step, count, naming = _ELF_HEADER.unpack_from(code)
    sections = [_ELF_SECTION.unpack_from(code, table + number * step) for number in range(count)]

    def read_name(strings: int, offset: int) -> str:
        begin = sections[strings][3] + offset
        return code[begin : code.index(b"\0", begin)].decode(errors="replace")

    names = [read_name(naming, each[0]) for each in sections]
    for _, kind, _, offset, size, strings, _, each in sections:
        if kind != _SYMBOLS:
            continue
        file = ""
        for at in range(offset, offset + size, each):
            name, info, _, section, value, nbytes = _ELF_SYMBOL.unpack_from(code, at)
            text, is_local = read_name(strings, name), info >> 4 == 0
            file = text if info & 15 == _FILE else file
            place = names[section] if section < count else ""
            yield _Symbol(text, info & 15, place, value, nbytes, file if is_local else "")


def _read_static_arrays(path: Path) -> list[_StaticArray]:
    """Return the `__shared__` arrays and their guards, ordered by address."""
    arrays = [
        _StaticArray(_shorten_name(each.name), each.address, each.nbytes)
        for each in _read_symbols(path)
        if each.section == "gb_shared" and each.kind == _OBJECT and each.nbytes and each.name != "gb_dynamic_shared"
    ]
    return sorted(arrays, key=lambda each: each.address)


_OF_KERNEL = re.compile(r"_ZN?K?12_GLOBAL__N_1L?(?=\d)")
"""The prefix of the mangled names of functions in a kernel's text."""
_COMPONENT = re.compile(r"\d+")


def _list_called_functions(path: Path, file: str, symbols: Sequence[str]) -> list[str]:
    """Return the functions of a file that the compiler could not inline into these kernels."""
    kernels = {split_template(symbol)[0].rpartition("::")[2] for symbol in symbols}
    own = [each for each in _read_symbols(path) if each.kind == _FUNCTION and each.file == file]
    called = [_name_function(each.name) for each in own]
    return sorted(set(called) - kernels - {""})


def _name_function(mangled: str) -> str:
    """Return the plain name, such as `sum`, of a function in a kernel's text; "" for other functions."""
    if not (found := _OF_KERNEL.match(mangled)):
        return ""
    name, rest = "", mangled[found.end() :]
    while length := _COMPONENT.match(rest):
        end = length.end() + int(length[0])
        name, rest = rest[length.end() : end], rest[end:]
    return name


_LAST_NAME = re.compile(r"(\d+)(?=([A-Za-z_]\w*?)E?(?:_\d*_?)?(?:\.\d+)?$)")


def _shorten_name(mangled: str) -> str:
    """Return the plain name, such as `As`, of a variable in a function. Guards keep their name."""
    if mangled.startswith(_GUARD):
        return mangled
    for found in _LAST_NAME.finditer(mangled):
        for begin in range(len(found[1])):
            if int(found[1][begin:]) == len(found[2]):
                return found[2]
    return mangled


def _find_places(path: Path, addresses: Iterable[int]) -> dict[int, Place]:
    """Return the source lines of return addresses. Addresses without a known line are left out."""
    wanted = sorted(addresses)
    if not wanted:
        return {}
    program = shutil.which(_ADDR2LINE) or _ADDR2LINE
    words = [program, "-a", "-i", "-e", str(path), *(hex(address - 1) for address in wanted)]
    command = walls.wrap_command(words, [path, program, Path(program).resolve()], limits=_LOOKUP_LIMITS)
    done = run_limited(command, _LOOKUP_SECONDS, environment=walls.ENVIRONMENT)
    frames: dict[int, list[tuple[str, int]]] = {}
    current = list[tuple[str, int]]()
    for line in done.stdout.splitlines():
        if line.startswith("0x"):
            current = frames.setdefault(int(line, 16) + 1, [])
        elif (found := _FRAME.match(line)) and not _is_ours(found[1]):
            current.append((found[1].rpartition("/")[2], int(found[2])))
    return {address: _make_place(found) for address, found in frames.items() if found}


_FRAME = re.compile(r"(.*):(\d+)(?: \(discriminator \d+\))?$")


def _is_ours(file: str) -> bool:
    return file.startswith(PRELUDE_NAME) or ": call of " in file


def _make_place(frames: Sequence[tuple[str, int]]) -> Place:
    inner, outer = frames[0], frames[-1]
    return Place(*inner, called=outer if outer != inner else None)
