"""Computes what the accesses of a kernel cost on a GPU: counts by line, how nvcc may join them, and a bound on time.

A request is one execution of a load or a store by a warp. In global memory it costs sectors of 32 bytes. In L1 or
shared memory it costs wavefronts, which are passes over the 32 banks.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from gemmbench.analysis.sass_facts import explain_limit
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems import Problem

SECTOR = 32
WARP = 32
_SCATTERED = 4
"""An access is scattered if it touches this many times the fewest sectors. Just sharing rows of a tile costs less."""
_UNITS = {
    "load_sectors": " per request",
    "store_sectors": " per request",
    "conflicts": " % of the wavefronts in shared memory",
}
"""What follows the values that limits may read."""
READINGS = WRITTEN, JOINED, UNITED = ("written", "joined", "united")
"""How accesses to shared memory become requests.

`written` takes them as in the text. `joined` makes one access of up to 16 bytes of neighbouring words between two
barriers. `united` also loads nothing twice between two barriers.
"""


@dataclass(frozen=True)
class Cost:
    """Requests of warps and what they cost.

    `sectors` are the distinct sectors of each request, and `lines` the distinct blocks of 128 bytes. `conflicts` are
    the wavefronts after the first for each group of lanes that are served together.
    """

    requests: int = 0
    sectors: int = 0
    lines: int = 0
    wavefronts: int = 0
    conflicts: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True)
class Access:
    """The loads or stores of one operand or array by one line, `nbytes` at a time, in all launches of a plan.

    `used` is the number of distinct bytes in its requests. `ragged` means that lanes executed it different numbers of
    times between two barriers, so they may have been matched wrongly. `most` is the largest number of united requests
    that a warp makes between two barriers. `reading` is the one of READINGS that the machine code decided on, or ""
    if undecided.
    """

    file: str
    line: int
    operand: str
    is_shared: bool
    writes: bool
    nbytes: int
    used: int
    ragged: bool
    most: int
    costs: Mapping[str, Cost]
    reading: str = ""

    @property
    def key(self) -> tuple[str, int, bool]:
        """The file and line, and whether the access is a store."""
        return self.file, self.line, self.writes

    @property
    def cost(self) -> Cost:
        """The cost according to `reading`, or the lowest possible cost if that is undecided."""
        return self.least if not self.reading else self.costs[self.reading]

    @property
    def least(self) -> Cost:
        """The lowest possible cost."""
        return self.costs[UNITED if self.is_shared else WRITTEN]

    @property
    def mean_bytes(self) -> float:
        """The bytes that a lane asks for in one request."""
        written = self.costs[WRITTEN].requests
        return self.nbytes * written / self.costs[JOINED].requests if self.is_joined else self.nbytes

    @property
    def fewest_sectors(self) -> int:
        """The sectors that a request to global memory would need if its lanes asked for neighbouring bytes."""
        return math.ceil(self.used / self.cost.requests / SECTOR)

    @property
    def is_scattered(self) -> bool:
        """Whether its requests to global memory touch many times more sectors than they need."""
        return not self.is_shared and self.cost.sectors >= _SCATTERED * self.fewest_sectors * self.cost.requests

    @property
    def is_joined(self) -> bool:
        """Whether its requests are wider than in the text."""
        return self.is_shared and self.reading != WRITTEN and self.costs[JOINED].requests < self.costs[WRITTEN].requests


@dataclass(frozen=True)
class AccessCounts:
    """Every access of a plan's launches, by line. Only `ran` of `blocks` blocks were run, as a sample of all."""

    accesses: tuple[Access, ...]
    ran: int
    blocks: int

    def total(self, is_shared: bool) -> Cost:
        """Return the total cost of all accesses to shared or to global memory."""
        return sum((each.cost for each in self.accesses if each.is_shared == is_shared), Cost())

    @property
    def global_bytes(self) -> int:
        """The bytes that accesses to global memory ask of L1."""
        return SECTOR * self.total(is_shared=False).sectors

    @property
    def least_wavefronts(self) -> int:
        """The fewest cycles during which the shared memory and L1 of one multiprocessor are busy."""
        return sum(each.least.wavefronts for each in self.accesses)

    @property
    def is_decided(self) -> bool:
        """Whether machine code has decided how to read every access to shared memory for which there is a choice."""
        return all(each.reading or each.least == each.costs[WRITTEN] for each in self.accesses if each.is_shared)

    @property
    def most_wavefronts(self) -> int:
        """The same as `least_wavefronts` if every access is made as it is written."""
        return sum(each.costs[WRITTEN].wavefronts for each in self.accesses)


@dataclass(frozen=True)
class TimeBound:
    """The least seconds that a product takes on a card.

    `math` is the time of its multiply-adds (None if their rate is unknown), and `l1` the time in L1.
    """

    card: str
    math: float | None
    l1: float

    @property
    def seconds(self) -> float:
        """The larger of the two times."""
        return max(self.math or 0.0, self.l1)

    @property
    def share_of_peak(self) -> float | None:
        """The largest share of the card's peak that can be reached."""
        return self.math / self.seconds if self.math else None


_PLACE = re.compile(r'//## File "([^"]*)", line (\d+)')
_ACCESS = re.compile(r"^\s*(?:/\*[0-9a-f]+\*/\s+)?(?:@!?U?P\w+\s+)?(LDS|STS)((?:\.\w+)*)\s", re.MULTILINE)
_WIDTHS = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}


SharedCode = Mapping[tuple[str, int, bool], Counter[int]]
"""The accesses to shared memory in machine code: the number of each width, by file, line, and whether it is a store."""


def read_shared_code(listing: str) -> SharedCode:
    """Find the accesses in the output of `nvdisasm -g`, where source lines precede their instructions."""
    code: dict[tuple[str, int, bool], Counter[int]] = {}
    file, line = "", 0
    for text in listing.splitlines():
        if place := _PLACE.search(text):
            file, line = place[1].rpartition("/")[2], int(place[2])
        elif found := _ACCESS.match(text):
            width = next((_WIDTHS[word] for word in found[2].split(".") if word in _WIDTHS), 4)
            code.setdefault((file, line, found[1] == "STS"), Counter())[width] += 1
    return code


def decide_readings(counts: AccessCounts, code: SharedCode) -> AccessCounts:
    """Decide from the machine code how to read each access to shared memory.

    If the code has at least as many load instructions as a warp needs between two barriers, the loops in between are
    unrolled and nothing is loaded twice. Otherwise neighbours are joined if an instruction is wider than the text.
    """
    needed: Counter[tuple[str, int, bool]] = Counter()
    for each in counts.accesses:
        needed[each.key] += each.most

    def choose(access: Access) -> str:
        widths = code.get(access.key)
        if not access.is_shared or not widths:
            return ""
        if not access.writes and sum(widths.values()) >= needed[access.key]:
            return UNITED
        return JOINED if max(widths) > access.nbytes else WRITTEN

    return replace(counts, accesses=tuple(replace(each, reading=choose(each)) for each in counts.accesses))


def merge_accesses(accesses: Iterable[Access]) -> tuple[Access, ...]:
    """Merge accesses with the same line, operand, direction and width. The result is in the order of the text."""
    merged: dict[tuple[str, int, bool, str, int], Access] = {}
    for each in accesses:
        key = (each.file, each.line, each.writes, each.operand, each.nbytes)
        merged[key] = _add_accesses(merged[key], each) if key in merged else each
    return tuple(merged[key] for key in sorted(merged))


def _add_accesses(first: Access, second: Access) -> Access:
    costs = {name: first.costs[name] + second.costs[name] for name in READINGS}
    ragged, most = first.ragged or second.ragged, first.most + second.most
    return replace(first, used=first.used + second.used, ragged=ragged, most=most, costs=costs)


def bound_time(counts: AccessCounts, flops: int, rate: float | None, cycles: float, card: str) -> TimeBound:
    """Compute the bound on a card. `cycles` is the sum of its multiprocessors' clocks in cycles per second.

    `rate` is FLOP per cycle and multiprocessor. The L1 of a multiprocessor takes one wavefront per cycle.
    """
    return TimeBound(card, flops / rate / cycles if rate else None, counts.least_wavefronts / cycles)


def name_access_values(plan: Plan, counts: AccessCounts) -> dict[str, int]:
    """Return the names that expressions under `accesses` may read, with their values: the parameters and ACCESS_NAMES.

    Each value comes from the worst line, rounded up: sectors per request, or percent of its wavefronts in shared
    memory.
    """
    problem = plan.problem

    def most_sectors(writes: bool) -> int:
        found = (each.costs[WRITTEN] for each in counts.accesses if not each.is_shared and each.writes == writes)
        return max((-(-cost.sectors // cost.requests) for cost in found), default=0)

    shared = (each.costs[JOINED] for each in counts.accesses if each.is_shared)
    return {
        **dict(plan.config.values),
        "BYTES": problem.storage("A").nbytes(1),
        "TRANS_A": int(problem.trans_a),
        "TRANS_B": int(problem.trans_b),
        "load_sectors": most_sectors(writes=False),
        "store_sectors": most_sectors(writes=True),
        "conflicts": max((-(-100 * cost.conflicts // cost.wavefronts) for cost in shared), default=0),
    }


def has_whole_sectors(problem: Problem) -> bool:
    """Return whether every row of A, B and C begins at a sector, which limits on accesses assume."""
    return all(problem.storage(name).nbytes(problem.stored_shape(name)[1]) % SECTOR == 0 for name in "ABC")


def find_broken_access_limits(plan: Plan, counts: AccessCounts) -> list[str]:
    """Return one sentence for each limit under `accesses` that the plan breaks.

    Limits do not apply if rows begin within sectors, since that costs any kernel more.
    """
    if not has_whole_sectors(plan.problem):
        return []
    known = name_access_values(plan, counts)
    return [fault for limit in plan.variant.accesses if (fault := explain_limit(limit, known, _UNITS))]


def list_ragged_lines(accesses: Sequence[Access]) -> list[str]:
    """List the lines, such as `tiled.cu:69`, whose requests may have been matched wrongly."""
    return list(dict.fromkeys(f"{each.file}:{each.line}" for each in accesses if each.ragged))
