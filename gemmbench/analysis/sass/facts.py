"""What the instructions of a loop cost, and the speed that follows: mix, register banks, shared loads.

The model of a multiprocessor partition, compute capability 7.0 and later:

* It issues one instruction a cycle. An FFMA holds the partition's f32 lanes for 1 cycle where the multiprocessor
  has 128 of them, for 2 where it has 64.
* The register file has two banks, register number modulo 2, each read once a cycle. An operand that the instruction
  before has flagged `.reuse` in the same slot is not read again; instructions of other classes in between do not
  change that. Two reads of one bank by one instruction are a conflict. (Two banks: Jia et al., "Dissecting the
  NVIDIA Volta GPU Architecture via Microbenchmarking", 2018.)
* A conflict costs one cycle, three reads of one bank cost two. If the next math instruction has a conflict in the
  other bank, the two overlap. Checked on one H200 with FFMA whose registers were chosen, one to four warps per
  partition: 42 of 49 sequences agree with the model within 2 %. Where it errs, it is mostly too slow: a conflict may
  also cost nothing if one or two instructions separate it from one in the other bank (up to 20 %, if they alternate
  50 %). Rows of eight or more FFMA that alternate their bank are 6 % slower than the model. With 64 lanes only three
  reads of one bank cost time.

The bound counts the instructions of the shortest way round the loop and no conflicts. The mix and
the estimate count every instruction of the loop once, whether it runs or not, those of inner loops
too. Neither includes latency, bandwidth, barriers and instruction fetch, so no kernel reaches the
bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median_low

from gemmbench.analysis.sass.instructions import CLASSES, Instruction
from gemmbench.analysis.sass.loop import Loop

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
        """How many there are."""
        return len(self.loop.body)

    @cached_property
    def mix(self) -> dict[str, int]:
        """Instructions of each class, in the order of CLASSES."""
        counts = Counter(instruction.kind for instruction in self.loop.body)
        return {kind: counts[kind] for kind in CLASSES}

    @cached_property
    def reuse(self) -> int:
        """f32 math instructions with an operand flagged `.reuse`."""
        return sum(any(map(instruction.reuses, _SLOTS)) for instruction in _math_instructions(self.loop.body))

    @cached_property
    def reads(self) -> list[list[int]]:
        """For each f32 math instruction how many registers it reads from bank 0 and from bank 1."""
        return list(_bank_reads(list(_math_instructions(self.loop.body))))

    @property
    def conflicts(self) -> int:
        """f32 math instructions that read two or three registers of one bank."""
        return sum(max(banks) > 1 for banks in self.reads)

    @property
    def conflict_cycles(self) -> int:
        """Cycles lost to conflicts, without those in which one overlaps with the one before it.

        Even with overlap a bank delivers one register a cycle.
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
        """Instructions from each shared load to the first use of its result, sorted.

        Also across the branch back.
        """
        return sorted(_find_load_distances(self.loop.body))

    @property
    def load_distance(self) -> int | None:
        """The smallest load distance; None if the loop uses no shared load."""
        return self.load_distances[0] if self.load_distances else None

    @property
    def median_distance(self) -> int | None:
        """The median load distance; None if the loop uses no shared load."""
        return median_low(self.load_distances) if self.load_distances else None

    @property
    def load_widths(self) -> dict[str, int]:
        """Shared loads by width: `{"LDS.128": 48}`."""
        loads = [instruction for instruction in self.loop.body if instruction.kind == "shared loads"]
        return dict(Counter(f"{load.name}.{32 * load.words}" for load in loads).most_common())

    @property
    def wavefronts(self) -> int:
        """Wavefronts of a warp's shared loads if each lane reads its own words without conflicts: 4 for LDS.128."""
        return sum(instruction.words for instruction in self.loop.body if instruction.kind == "shared loads")

    def bound(self, lanes: int) -> float:
        """The most that the loop can reach on a multiprocessor with `lanes` f32 lanes, as a share of its FFMA peak."""
        busy = self.loop.ffma * _cycles_per_ffma(lanes)
        return busy / max(busy, self.loop.path)

    def estimate(self, lanes: int) -> float:
        """The share of the FFMA peak if every instruction of the loop runs once and register banks conflict."""
        busy = self.mix["FFMA"] * _cycles_per_ffma(lanes)
        return busy / max(busy, self.instructions + self.conflict_cycles)


def _cycles_per_ffma(lanes: int) -> float:
    """Cycles for which an FFMA occupies a partition's lanes."""
    return max(1.0, _ISSUE / lanes)


def _math_instructions(body: Sequence[Instruction]) -> Iterator[Instruction]:
    return (instruction for instruction in body if instruction.name in _F32_MATH)


def _bank_reads(math: Sequence[Instruction]) -> Iterator[list[int]]:
    """Registers that each instruction reads from each bank.

    The last instruction precedes the first.
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
