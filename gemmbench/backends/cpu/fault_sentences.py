"""Describes the faults that the runtime reports when it watches a kernel. The likeliest causes come first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gemmbench.backends.base import Watched, WatchedFault
from gemmbench.errors import name_signal

_Report = Mapping[str, Any]
"""A fault as reported by the runtime: kind, at, other, count, and the fields of its first example."""


@dataclass(frozen=True)
class Place:
    """A line of a file and, if different, the line of the kernel that called it."""

    file: str
    line: int
    called: tuple[str, int] | None = None

    def __str__(self) -> str:
        if self.called is None:
            return f"{self.file}:{self.line}"
        file, line = self.called
        return f"{self.file}:{self.line} (called at {f'line {line}' if file == self.file else f'{file}:{line}'})"


@dataclass(frozen=True)
class Operand:
    """A region of memory: its name and bytes per element, and if it holds row-major matrices, how their rows are named.

    `columns` is the number of elements from one row to the next. `shape` is "" if there are several matrices.
    """

    name: str
    element: int
    columns: int = 0
    shape: str = ""
    locate_row: Callable[[int], str] = "row {:,}".format


_PAGE = 4096
"""Bytes from address 0 on that nothing is mapped to, so that an access to them is one through a null pointer."""
_UNKNOWN = Place("", 0)
_UNWRITTEN, _ENDLESS = "read before written", "endless"
_EXPLAIN = (_UNWRITTEN, _ENDLESS)
"""Kinds that are not faults by themselves."""


@dataclass(frozen=True)
class _Fault:
    report: _Report
    at: Place
    other: Place
    operands: Sequence[Operand]

    def __getitem__(self, key: str) -> Any:
        return self.report[key]

    @property
    def kind(self) -> str:
        return str(self["kind"])

    @property
    def operand(self) -> Operand:
        operand: Operand = self.operands[self["region"]]
        return operand

    @property
    def block(self) -> str:
        return f"block {_write_triple(self['block'])}"

    @property
    def thread(self) -> str:
        return f"thread {_write_triple(self['thread'])} of {self.block}"

    @property
    def accesses(self) -> str:
        return f", {self['count']:,} times" if self["count"] > 1 else ""

    @property
    def element(self) -> str:
        """The element in words, such as `element 3,350, 1 past the last (row 67, column 0 of 67 x 50)`."""
        number, count = self["element"], self["elements"]
        how = f", {number - count + 1:,} past the last" if number >= count else ", before the first" * (number < 0)
        if not self.operand.columns or number < 0:
            return f"element {number:,}{how}"
        return f"element {number:,}{how} ({self.matrix_place}{self.operand.shape and f' of {self.operand.shape}'})"

    @property
    def matrix_place(self) -> str:
        """The position of the element: `row 3 of group 5, column 0` in a matrix, otherwise its number."""
        if not self.operand.columns:
            return f"element {self['element']:,}"
        row, column = divmod(self["element"], self.operand.columns)
        return f"{self.operand.locate_row(row)}, column {column:,}"


def _write_triple(values: Sequence[int]) -> str:
    return f"({', '.join(map(str, values))})"


def _describe_miss(fault: _Fault) -> str:
    return f"{fault.at}: {fault.kind} {fault.operand.name}: {fault.element}; {fault.thread}{fault.accesses}"


def _describe_stray(fault: _Fault) -> str:
    verb = fault.kind.split()[0]
    where = "through a null pointer" if fault["address"] < _PAGE else "at an address in no operand and no array"
    return f"{fault.at}: {verb} {where}; {fault.thread}{fault.accesses}"


def _describe_input(fault: _Fault) -> str:
    return f"{fault.at}: writes to {fault.operand.name}, which is an input: {fault.element}; {fault.thread}"


def _describe_index(fault: _Fault) -> str:
    kind = str(fault["type"]).strip("'")
    return f"{fault.at}: index {fault['index']} of an array {kind}; {fault.thread}{fault.accesses}"


def _describe_overflow(fault: _Fault) -> str:
    kind = str(fault["type"]).strip("'")
    return (
        f"{fault.at}: {fault['left']} {fault['sign']} {fault['right']} overflows {_add_article(kind)}"
        f"{'; compute it as size_t' if kind == 'int' else ''}; {fault.thread}"
    )


def _add_article(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def _describe_misaligned(fault: _Fault) -> str:
    size = fault["bytes"]
    what = f"{fault.at}: an access of {size} bytes to {fault.operand.name} at element {fault['element']:,}"
    return f"{what}, whose address is not a multiple of {size}; a GPU stops the kernel there; {fault.thread}"


def _describe_race(fault: _Fault) -> str:
    mine, others = fault.thread, f"thread {_write_triple(fault['other_thread'])}"
    if fault["block"] != fault["other_block"]:
        others += f" of block {_write_triple(fault['other_block'])}"
        why = "by two blocks"
    else:
        why = "with no barrier between"
    verbs = {True: "writes", False: "reads"}
    places = str(fault.at) if fault.at == fault.other else f"{fault.other} and {fault.at}"
    element = f"element {fault['element']:,}"
    if fault.operand.columns:
        element += f" ({fault.matrix_place})"
    return (
        f"{places}: race on {fault.operand.name}, {why}: {others} {verbs[fault['other_writes']]} {element} at line "
        f"{fault.other.line}, {mine} {verbs[fault['writes']]} it at line {fault.at.line}{fault.accesses}"
    )


def _describe_absent(fault: _Fault) -> str:
    how = f"returned at line {fault['line']}" if fault["line"] else "reached the end of the kernel"
    return (
        f"{fault.at}: {fault['gone']} of the {fault['threads']} threads of {fault.block} never reach this barrier: "
        f"they {how}, such as thread {_write_triple(fault['thread'])}"
    )


def _describe_divergent(fault: _Fault) -> str:
    mine, others = _write_triple(fault["thread"]), _write_triple(fault["other_thread"])
    return (
        f"{fault.at} and {fault.other}: threads {mine} and {others} of {fault.block} wait at different barriers; "
        "a GPU may hang there"
    )


def _describe_stuck(fault: _Fault) -> str:
    mine, others = _write_triple(fault["thread"]), _write_triple(fault["other_thread"])
    if fault.at == fault.other:
        return f"{fault.at}: threads of {fault.block} wait here for threads that never come"
    return (
        f"{fault.at} and {fault.other}: thread {mine} of {fault.block} waits at the first barrier, thread {others} "
        "at the second, and neither can go on"
    )


def _describe_unwritten(fault: _Fault) -> str:
    count = f"{fault['missing']:,} of the {fault['elements']:,} elements of {fault.operand.name}"
    where = "in " * bool(fault.operand.columns) + fault.matrix_place
    return f"{count} are never written, the first {where}"


def _describe_early_read(fault: _Fault) -> str:
    element = f"element {fault['element']:,} of {fault.operand.name}"
    return f"{fault.at} reads {element}, which no thread of the block has written"


def _describe_crash(fault: _Fault) -> str:
    return f"{fault.at}: the kernel crashes here with {name_signal(fault['signal'])}; {fault.thread}"


def _describe_endless(fault: _Fault) -> str:
    if fault.at == _UNKNOWN:
        return f"{fault.thread} goes on without end"
    return f"{fault.at} is the last access of {fault.thread}, which goes on without end"


_SENTENCES: Mapping[str, Callable[[_Fault], str]] = {
    "overflow": _describe_overflow,
    "index": _describe_index,
    "writes outside": _describe_miss,
    "reads outside": _describe_miss,
    "writes nowhere": _describe_stray,
    "reads nowhere": _describe_stray,
    "writes input": _describe_input,
    "misaligned": _describe_misaligned,
    "absent": _describe_absent,
    "divergent": _describe_divergent,
    "stuck": _describe_stuck,
    "race": _describe_race,
    "never written": _describe_unwritten,
    "crash": _describe_crash,
    _UNWRITTEN: _describe_early_read,
    _ENDLESS: _describe_endless,
}
"""The functions that write the sentence for each kind. The likeliest causes come first."""
_PLACELESS = ("never written", "stuck", "crash", _ENDLESS)
_ORDER = list(_SENTENCES)


def describe_faults(reports: Sequence[_Report], places: Mapping[int, Place], operands: Sequence[Operand]) -> Watched:
    """Describe in sentences what the runtime reported. `places` maps return addresses to lines."""
    faults = [
        _Fault(each, places.get(each["at"], _UNKNOWN), places.get(each["other"], _UNKNOWN), operands)
        for each in reports
        if each["kind"] in _SENTENCES and (each["at"] in places or each["kind"] in _PLACELESS)
    ]
    faults.sort(key=lambda fault: (_ORDER.index(fault.kind), fault.at.file, fault.at.line, fault.other.line))
    told = list(_drop_consequences(_drop_repeated(faults)))
    found = [_write_fault(each) for each in told]
    return Watched(
        tuple(each for each in found if each.kind not in _EXPLAIN),
        tuple(each.sentence for each in found if each.kind in _EXPLAIN),
        ended=all(each["kind"] != _ENDLESS for each in reports),
    )


def _write_fault(fault: _Fault) -> WatchedFault:
    place = f"{fault.at.file}:{fault.at.line}" if fault.at.line else ""
    return WatchedFault(fault.kind, place, _SENTENCES[fault.kind](fault), _ORDER.index(fault.kind))


def _drop_repeated(faults: Sequence[_Fault]) -> Iterator[_Fault]:
    """Yield each kind once per pair of lines.

    Two barriers on one line, one of them a copy made by the compiler, count as one.
    """
    seen: set[object] = set()
    for fault in faults:
        region = fault.report.get("region")
        places = fault["line"] if fault.kind == "absent" else frozenset((fault.at, fault.other))
        key = fault.kind, region, places
        if key in seen or (fault.kind == "divergent" and fault.at == fault.other):
            continue
        seen.add(key)
        yield fault


_FOLLOW = ("writes outside", "reads outside", "writes nowhere", "reads nowhere", "race")
"""Kinds that may be caused by a wrong index."""


def _drop_consequences(faults: Iterator[_Fault]) -> Iterator[_Fault]:
    """Leave out consequences of a fault on the same line, such as a crash there."""
    miscounted: set[Place] = set()
    written: set[tuple[Place, int]] = set()
    strayed: set[Place] = set()
    for fault in faults:
        if fault.kind == "crash" and fault.at in strayed:
            continue
        strayed |= {fault.at} if fault.kind != "race" else set()
        if fault.kind in _FOLLOW and {fault.at, fault.other} & miscounted:
            continue
        if fault.kind == "writes outside":
            written.add((fault.at, fault["region"]))
        if fault.kind == "reads outside" and (fault.at, fault["region"]) in written:
            continue
        miscounted |= {fault.at} if fault.kind in ("index", "overflow") else set()
        yield fault
