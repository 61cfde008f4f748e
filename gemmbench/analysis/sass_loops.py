"""Parses machine code from the output of cuobjdump, and finds the loop in which a GEMM spends its time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

FIRST_SM = 70

_KERNEL = re.compile(r"^[ \t]*Function : (\S+)", re.MULTILINE)
_LINE = re.compile(
    r"^[ \t]*/\*([0-9a-f]{4,16})\*/[ \t]+(?:(@!?U?P\w+)[ \t]+)?([A-Z][\w.]*)(?![\w.])([^;\n]*);", re.MULTILINE
)
_REGISTER = re.compile(r"\bR(\d+)(\.64)?")

_CLASSES = {
    "FFMA": "FFMA",
    "tensor cores": "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA QGMMA BGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA",
    "other math": "FADD FMUL FFMA2 FADD2 FMUL2 DFMA DADD DMUL HFMA2 HADD2 HMUL2 IDP IDP4A",
    "shared loads": "LDS LDSM",
    "global loads": "LDG LDGSTS LD UTMALDG UBLKCP UBLKPF UTMAPF",
    "shared stores": "STS STSM",
    "global stores": "STG ST RED REDG ATOM ATOMG UTMASTG UTMAREDG UBLKRED",
    "spills": "LDL STL",
    "integer and address": "BMSK BREV CS2R CS2UR FLO I2I IABS IADD IADD3 IMAD IMNMX IMUL ISCADD ISETP LDC LDCU LEA LOP "
    "LOP3 MOV MOVM P2R PLOP3 POPC PRMT R2P R2UR S2R S2UR SEL SGXT SHF SHL SHR UR2UP VABSDIFF VIADD VIADD3 "
    "VIADDMNMX VIMNMX VIMNMX3",
    "control and barrier": "ACQBULK ARRIVES B2R BAR BMOV BPT BRA BREAK BRX BRXU BSSY BSYNC CALL CCTL CGAERRBAR DEPBAR "
    "ELECT ENDCOLLECTIVE ERRBAR EXIT FENCE JMP JMX KILL LDGDEPBAR LEPC MEMBAR NANOSLEEP NOP PREEXIT RET RPCMOV "
    "SYNCS UCGABAR_ARV UCGABAR_WAIT USETMAXREG UTMACCTL UTMACMDFLUSH VOTE VOTEU WARPGROUP WARPSYNC YIELD",
}
OTHER = "other"
CLASSES = (*_CLASSES, OTHER)
_CLASS_OF = {name: kind for kind, names in _CLASSES.items() for name in names.split()}
# A uniform instruction is named after an ordinary one, with a U in front: UIADD3, USHF.
_UNIFORM = {f"U{name}": kind for name, kind in _CLASS_OF.items() if kind == "integer and address"}
_NO_RESULT = frozenset("STS STSM STL STG ST RED REDG BRA EXIT LDGSTS BAR".split())


@dataclass(frozen=True)
class Instruction:
    """One instruction: its address in bytes, predicate (`@!P0` or ""), name with modifiers, and operands."""

    address: int
    guard: str
    opcode: str
    operands: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name without modifiers: `LDS` of `LDS.U.128`."""
        return self.opcode.partition(".")[0]

    @property
    def kind(self) -> str:
        """The class of the instruction, one of CLASSES."""
        if self.name == "HFMA2" and self.operands[1:3] == ("-RZ", "RZ"):
            return "integer and address"  # moves a constant into a register when the integer pipe is busy
        return _CLASS_OF.get(self.name) or _UNIFORM.get(self.name, OTHER)

    @property
    def words(self) -> int:
        """The number of registers that a load writes or a store reads: 4 for LDS.128."""
        parts = self.opcode.split(".")
        return 4 if "128" in parts or parts[-1] == "4" else 2 if "64" in parts or parts[-1] == "2" else 1

    @property
    def results(self) -> frozenset[int]:
        """The numbers of the registers that a load writes.

        Of other instructions, only the first register that they write counts, if any.
        """
        if self.name in _NO_RESULT or not self.operands:
            return frozenset()
        first = _REGISTER.fullmatch(self.operands[0])
        return (
            _register_group(int(first[1]), self.words if self.name in ("LDS", "LDSM") else 1) if first else frozenset()
        )

    @property
    def sources(self) -> frozenset[int]:
        """The numbers of the registers that the instruction reads."""
        texts = self.operands[1:] if self.results else self.operands
        read: set[int] = set()
        for text in texts:
            for found in _REGISTER.finditer(text):
                read |= _register_group(int(found[1]), 2 if found[2] else self._source_words(text))
        return frozenset(read)

    def _source_words(self, text: str) -> int:
        """Return the number of registers of an operand: the width of a store, or up to four for a fragment of HMMA."""
        if self.name.endswith("MMA"):
            return 4
        return self.words if self.name in _NO_RESULT and not text.startswith("[") else 1

    def register(self, slot: int) -> int | None:
        """Return the register in source slot 0, 1 or 2 (a, b, c of a * b + c).

        Returns None for RZ, a constant or a uniform register.
        """
        found = _REGISTER.search(self.operands[slot + 1]) if slot + 1 < len(self.operands) else None
        return int(found[1]) if found else None

    def reuses(self, slot: int) -> bool:
        """Return whether the operand of this slot is kept for the next instruction."""
        return slot + 1 < len(self.operands) and ".reuse" in self.operands[slot + 1]


def _register_group(first: int, count: int) -> frozenset[int]:
    return frozenset(range(first, first + count))


def parse_kernels(text: str) -> dict[str, tuple[Instruction, ...]]:
    """Parse the instructions of every kernel, by symbol, from the output of `cuobjdump --dump-sass`."""
    parts = _KERNEL.split(text)  # text, name, text, name, text ...
    return {name: _parse_instructions(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def _parse_instructions(body: str) -> tuple[Instruction, ...]:
    return tuple(
        Instruction(int(address, 16), guard, opcode, tuple(filter(None, map(str.strip, operands.split(",")))))
        for address, guard, opcode, operands in _LINE.findall(body)
    )


Edges = Sequence[Sequence[int]]

_MAIN = ("FFMA", "tensor cores")
_MATH = (*_MAIN, "other math")
_BYTES = 16  # of an instruction
_TARGET = re.compile(r"0x([0-9a-f]+)")
_JUMPS = frozenset("BRA JMP CALL".split())
_ENDS = frozenset("BRA JMP BRX BRXU JMX EXIT RET KILL".split())


@dataclass(frozen=True)
class Loop:
    """The instructions of a loop, including inner loops, by address.

    `code_bytes` is the distance from the start of its first instruction to the end of its last. `inside` is the number
    of instructions in inner loops. `ffma` and `path` are the numbers of FFMA and of all instructions on one way around
    the loop. That is the way with the most FFMA and products on tensor cores and, among equals, the fewest
    instructions.
    """

    body: tuple[Instruction, ...]
    code_bytes: int
    inside: int
    ffma: int
    path: int

    @property
    def math(self) -> int:
        """The number of instructions that multiply or add floating-point numbers, including those on tensor cores."""
        return sum(instruction.kind in _MATH for instruction in self.body)

    @property
    def on_tensor_cores(self) -> int:
        """The number of instructions for products on tensor cores."""
        return sum(instruction.kind == "tensor cores" for instruction in self.body)


def find_hottest_loop(code: Sequence[Instruction]) -> Loop | None:
    """Find the loop with the most math among those without an inner loop that has math; None if no loop has any.

    A loop with products on tensor cores takes precedence. If two loops have the same amount, they are usually for
    aligned and for other operands. Benchmarks run the one that has no loop inside or is shorter.
    """
    found = [loop for loop in find_loops(code) if loop.math]
    innermost = [loop for loop in found if not any(_contains(loop, other) for other in found)]
    return max(innermost, key=lambda loop: (loop.on_tensor_cores, loop.math, not loop.inside, -loop.path), default=None)


def find_loops(code: Sequence[Instruction]) -> list[Loop]:
    """Find every loop of a kernel, in the order of their headers.

    Code after the last branch back is not counted, because it seldom runs.
    """
    if not code:
        return []
    after = _successors(code)
    before = _reverse_edges(after)
    everywhere = _reachable(after, 0)
    found: dict[int, set[int]] = {}
    for header in sorted({target for source, targets in enumerate(after) for target in targets if target <= source}):
        elsewhere = _reachable(after, 0, without=header)
        back = {source for source in before[header] if header <= source and source in everywhere - elsewhere}
        if back:
            members = {header}.union(*(_reachable(before, source, without=header) for source in back))
            found[header] = {member for member in members if header <= member <= max(back)}
    return [_make_loop(code, after, members, list(found.values())) for members in found.values()]


def _make_loop(code: Sequence[Instruction], after: Edges, members: set[int], found: Sequence[set[int]]) -> Loop:
    first, last = code[min(members)], code[max(members)]
    inside = set[int]().union(*(other for other in found if other < members))
    body = tuple(code[member] for member in sorted(members))
    return Loop(body, last.address + _BYTES - first.address, len(inside), *_shortest_way_round(code, after, members))


def _shortest_way_round(code: Sequence[Instruction], after: Edges, members: set[int]) -> tuple[int, int]:
    """Count FFMA and all instructions on the way around a loop that has the most instructions in _MAIN.

    Inner loops run at most once.
    """
    header = min(members)
    best, ends = {header: (0, 0, 0)}, list[tuple[int, int, int]]()  # before each: _MAIN, minus instructions, FFMA
    for member in sorted(members):
        if member in best:
            main, minus_instructions, ffma = best[member]
            kind = code[member].kind
            here = (main + (kind in _MAIN), minus_instructions - 1, ffma + (kind == "FFMA"))
            for target in after[member]:
                if target in members and target > member:
                    best[target] = max(here, best.get(target, here))
            ends += [here] if header in after[member] else []
    _, minus_instructions, ffma = max(ends)
    return ffma, -minus_instructions


def _contains(loop: Loop, other: Loop) -> bool:
    return loop is not other and set(other.body) < set(loop.body)


def _successors(code: Sequence[Instruction]) -> list[list[int]]:
    """Return for each instruction the indices of those that can run next."""
    index = {instruction.address: number for number, instruction in enumerate(code)}
    after: list[list[int]] = []
    for number, instruction in enumerate(code):
        follows = [] if _never_falls_through(instruction) or number + 1 == len(code) else [number + 1]
        target = _TARGET.fullmatch(instruction.operands[-1]) if instruction.operands else None
        if instruction.name in _JUMPS and target and int(target[1], 16) in index:
            follows.append(index[int(target[1], 16)])
        after.append(follows)
    return after


def _never_falls_through(instruction: Instruction) -> bool:
    # The condition of a branch may be an operand before the target: BRA.DIV UR4, 0x1a0.
    conditional = instruction.guard or (instruction.name in _JUMPS and len(instruction.operands) > 1)
    return instruction.name in _ENDS and not conditional


def _reverse_edges(after: Edges) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in after]
    for source, targets in enumerate(after):
        for target in targets:
            before[target].append(source)
    return before


def _reachable(edges: Edges, start: int, without: int = -1) -> set[int]:
    """Return the nodes that can be reached from `start`, including itself, without passing `without`."""
    seen, open_ends = set[int](), [start] if start != without else []
    while open_ends:
        here = open_ends.pop()
        if here not in seen:
            seen.add(here)
            open_ends += [target for target in edges[here] if target != without]
    return seen
