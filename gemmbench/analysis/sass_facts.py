"""Computes what the instructions of a loop cost, the speed that follows, and whether limits under `sass` hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median_low
from types import MappingProxyType

from gemmbench.analysis.sass_loops import CLASSES, Instruction, Loop
from gemmbench.planning.manifests.expressions import Expression, ExpressionError
from gemmbench.planning.plans.plan import Plan

_BANKS = 2
_SLOTS = (0, 1, 2)
_ISSUE = 128  # f32 lanes of a multiprocessor that issues an FFMA every cycle in each of its partitions
_F32_MATH = frozenset("FFMA FADD FMUL".split())


@dataclass(frozen=True)
class LoopFacts:
    """The costs of one loop."""

    loop: Loop

    @property
    def instructions(self) -> int:
        """The number of instructions."""
        return len(self.loop.body)

    @cached_property
    def mix(self) -> dict[str, int]:
        """The number of instructions in each class, in the order of CLASSES."""
        counts = Counter(instruction.kind for instruction in self.loop.body)
        return {kind: counts[kind] for kind in CLASSES}

    @cached_property
    def reuse(self) -> int:
        """The number of f32 math instructions with an operand flagged `.reuse`."""
        return sum(any(map(instruction.reuses, _SLOTS)) for instruction in _math_instructions(self.loop.body))

    @cached_property
    def reads(self) -> list[list[int]]:
        """For each f32 math instruction, the number of registers it reads from bank 0 and from bank 1."""
        return list(_bank_reads(list(_math_instructions(self.loop.body))))

    @property
    def conflicts(self) -> int:
        """The number of f32 math instructions that read two or three registers of the same bank."""
        return sum(max(banks) > 1 for banks in self.reads)

    @property
    def conflict_cycles(self) -> int:
        """The cycles lost to conflicts, except those that overlap with a conflict of the previous instruction.

        Even with overlap, a bank delivers only one register per cycle.
        """
        cycles = 0
        for banks, earlier in zip(self.reads, self.reads[-1:] + self.reads, strict=False):
            mine, others = max(*banks, 1) - 1, max(*earlier, 1) - 1
            same = (banks[0] > banks[1]) == (earlier[0] > earlier[1])
            cycles += mine - (0 if same else min(mine, others))
        busier_bank = max(map(sum, zip(*self.reads, strict=True)), default=0)
        return max(cycles, busier_bank - len(self.reads))

    @cached_property
    def load_distances(self) -> list[int]:
        """The number of instructions from each shared load to the first use of its result, sorted.

        A use may come after the branch back.
        """
        return sorted(_find_load_distances(self.loop.body))

    @property
    def load_distance(self) -> int | None:
        """The smallest load distance; None if the loop does not use a shared load."""
        return self.load_distances[0] if self.load_distances else None

    @property
    def median_distance(self) -> int | None:
        """The median load distance; None if the loop does not use a shared load."""
        return median_low(self.load_distances) if self.load_distances else None

    @property
    def load_widths(self) -> dict[str, int]:
        """The number of shared loads of each width: `{"LDS.128": 48}`."""
        loads = [instruction for instruction in self.loop.body if instruction.kind == "shared loads"]
        return dict(Counter(f"{load.name}.{32 * load.words}" for load in loads).most_common())

    @property
    def wavefronts(self) -> int:
        """The wavefronts of a warp's shared loads if lanes read different words without conflicts: 4 for LDS.128."""
        return sum(instruction.words for instruction in self.loop.body if instruction.kind == "shared loads")

    def bound(self, lanes: int) -> float:
        """Return the largest share of its FFMA peak that a multiprocessor with `lanes` f32 lanes can reach here."""
        busy = self.loop.ffma * _cycles_per_ffma(lanes)
        return busy / max(busy, self.loop.path)

    def estimate(self, lanes: int) -> float:
        """Estimate the share of the FFMA peak if every instruction of the loop runs once, including bank conflicts."""
        busy = self.mix["FFMA"] * _cycles_per_ffma(lanes)
        return busy / max(busy, self.instructions + self.conflict_cycles)


def _cycles_per_ffma(lanes: int) -> float:
    """Return for how many cycles an FFMA occupies a partition's lanes."""
    return max(1.0, _ISSUE / lanes)


def _math_instructions(body: Sequence[Instruction]) -> Iterator[Instruction]:
    return (instruction for instruction in body if instruction.name in _F32_MATH)


def _bank_reads(math: Sequence[Instruction]) -> Iterator[list[int]]:
    """Yield how many registers each instruction reads from each bank.

    Since this is a loop, the last instruction precedes the first.
    """
    kept = _reused_registers(math[-1]) if math else {}
    for instruction in math:
        fresh = {instruction.register(slot) for slot in _SLOTS if kept.get(slot, -1) != instruction.register(slot)}
        numbers = [register for register in fresh if register is not None]
        yield [sum(register % _BANKS == bank for register in numbers) for bank in range(_BANKS)]
        kept = _reused_registers(instruction)


def _reused_registers(instruction: Instruction) -> dict[int, int | None]:
    return {slot: instruction.register(slot) for slot in _SLOTS if instruction.reuses(slot)}


def _find_load_distances(body: Sequence[Instruction]) -> Iterator[int]:
    count = len(body)
    for position, load in enumerate(body):
        if load.kind == "shared loads":
            results = load.results
            for distance in range(1, count + 1):
                later = body[(position + distance) % count]
                if results & later.sources:
                    yield distance
                    break
                results -= later.results


def limit_names(facts: LoopFacts, plan: Plan, sm: int) -> dict[str, int]:
    """Return the names that expressions under `sass` may read, with their values: the parameters and SASS_NAMES.

    `load_distance` is missing if the loop does not use a shared load.
    """
    found = {
        **dict(plan.config.values),
        "BYTES": plan.problem.storage("A").nbytes(1),
        "sm": sm,
        "instructions": facts.instructions,
        "ffma": facts.mix["FFMA"],
        "tensor": facts.mix["tensor cores"],
        "conflicts": facts.conflicts,
        "reuse": facts.reuse,
        "spills": facts.mix["spills"],
        "shared_loads": facts.mix["shared loads"],
        "code_bytes": facts.loop.code_bytes,
    }
    return found if facts.load_distance is None else {**found, "load_distance": facts.load_distance}


def find_broken_limits(plan: Plan, facts: LoopFacts | None, sm: int) -> list[str]:
    """Return one sentence for each limit of the plan's variant that is broken.

    `facts` is None if no loop has math.
    """
    limits = plan.variant.sass
    if facts is None:
        return [f"{limit}: no loop has math" for limit in limits]
    known = limit_names(facts, plan, sm)
    return [fault for limit in limits if (fault := _explain_broken(limit, known))]


def _explain_broken(limit: Expression, known: Mapping[str, int]) -> str:
    if missing := [name for name in limit.names if name not in known]:
        return f"{limit}: there is no {missing[0]}, because the loop does not use shared memory"
    return explain_limit(limit, known)


def explain_limit(limit: Expression, known: Mapping[str, int], units: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a limit and the values of its names, with their units, if it is broken; "" if it holds."""
    try:
        holds = limit.value(known)
    except ExpressionError as fault:
        return str(fault)
    values = (f"{name} is {known[name]}{units.get(name, '')}" for name in limit.names)
    return "" if holds else f"{limit}: {', '.join(values)}"
