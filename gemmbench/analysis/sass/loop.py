"""The loops of machine code, and the one where a GEMM spends its time.

Loops are found as compilers find them: a branch goes back to an instruction that is on every path
to the branch (the header), and the loop is all that can reach the branch without passing the header
(a natural loop; Aho, Lam, Sethi, Ullman, "Compilers", 9.6). ptxas moves code that seldom runs to
the end of the kernel. A branch back out of that code makes no loop by this definition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.analysis.sass.instructions import Instruction

Edges = Sequence[Sequence[int]]

_MAIN = ("FFMA", "tensor cores")
_MATH = (*_MAIN, "other math")
_BYTES = 16  # of an instruction
_TARGET = re.compile(r"0x([0-9a-f]+)")
_JUMPS = frozenset("BRA JMP CALL".split())
_ENDS = frozenset("BRA JMP BRX BRXU JMX EXIT RET KILL".split())


@dataclass(frozen=True)
class Loop:
    """The instructions of a loop in the order of their addresses, those of inner loops included.

    `code_bytes` reaches from its first instruction to the end of its last. `inside` counts the
    instructions of inner loops. `ffma` and `path` count the FFMA and all instructions of one way
    round the loop: the one with the most FFMA and products on tensor cores and, of those, the fewest instructions.
    """

    body: tuple[Instruction, ...]
    code_bytes: int
    inside: int
    ffma: int
    path: int

    @property
    def math(self) -> int:
        """Instructions that multiply or add floating-point numbers, tensor cores included."""
        return sum(instruction.kind in _MATH for instruction in self.body)

    @property
    def on_tensor_cores(self) -> int:
        """Products on tensor cores."""
        return sum(instruction.kind == "tensor cores" for instruction in self.body)


def find_hottest_loop(code: Sequence[Instruction]) -> Loop | None:
    """The loop with the most math, of those without an inner loop that has math; None if no loop has any.

    A loop with products on tensor cores comes before one without. Of two with as much, a kernel has one
    for aligned operands and one for others; that of benchmarks has no loop inside, or is the shorter.
    """
    found = [loop for loop in find_loops(code) if loop.math]
    innermost = [loop for loop in found if not any(_contains(loop, other) for other in found)]
    return max(innermost, key=lambda loop: (loop.on_tensor_cores, loop.math, not loop.inside, -loop.path), default=None)


def find_loops(code: Sequence[Instruction]) -> list[Loop]:
    """Find every loop of a kernel, in the order of their headers.

    Code behind the last branch back is not counted: it seldom runs.
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
    """Count FFMA and instructions from the header to a branch back to it, on the way with the most of _MAIN.

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
    """For each instruction the indices of those that can run next."""
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
    """The nodes that `start` reaches along the edges, itself included, without passing `without`."""
    seen, open_ends = set[int](), [start] if start != without else []
    while open_ends:
        here = open_ends.pop()
        if here not in seen:
            seen.add(here)
            open_ends += [target for target in edges[here] if target != without]
    return seen
