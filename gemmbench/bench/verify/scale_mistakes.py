"""Explains wrong scales of A and B: left out, rounded, applied to rounded sums, or read from another place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import NamedTuple

import ml_dtypes
import numpy as np

from gemmbench.bench.operands.products import find_scales
from gemmbench.bench.verify.diagnosis import Diagnosis, is_explained_by_scalars
from gemmbench.bench.verify.wrong_result import WrongResult, WrongSample, find_wrong_region
from gemmbench.planning.precisions import BFLOAT16, FLOAT16, Scales, StorageType

_FEWER_BITS = (("bf16", 8), ("TF32 or f16", 11), ("f8e4m3", 4), ("f8e5m2", 3))
"""What scales may be rounded to: a name, and the significand bits."""
_TILES = (2, 4, 8, 16, 32, 64, 128, 256)
_MOST_LINES = 512
"""The most rows and columns of which NaN is explained."""
_MOST_MISTAKES = 16
"""The most mistakes that explain the wrong elements, of which one is sought that leaves the right ones right."""
_LEAST_NUMBERS = 8
"""The number of wrong numbers, apart from NaN, that two mistakes at once must explain."""
_MOSTLY = 0.9
"""The share of elements that rounded sums must give to the last bit."""
_ROUNDED_SUMS: tuple[tuple[str, StorageType], ...] = (("bf16", BFLOAT16), ("f16", FLOAT16))


class _Read(NamedTuple):
    """Scales that a kernel may have used: the key of the mistake, words about it, and E x S scales."""

    cause: str
    words: str
    scales: np.ndarray


def explain_scales(wrong: WrongResult) -> Diagnosis | None:
    """Return the mistake in scales that explains the wrong elements, or None, as where alpha or beta does."""
    probe = _Probe(wrong)
    if not np.isfinite(probe.sample.got).any():
        return None
    with np.errstate(all="ignore"):
        if is_explained_by_scalars(wrong):
            return None
        found = list(islice(probe.list_mistakes(), _MOST_MISTAKES))
        if not found:
            return None
        cause, words = found[0]
        rest = _Probe(wrong, of_right=True)
        if not wrong.has_nan and len(rest.sample):
            known = {words for _, words in rest.list_mistakes()}
            region = find_wrong_region(wrong).subject.rstrip(",")
            cause, words = next((each for each in found if each[1] in known), (cause, f"{region}: {words}"))
    return Diagnosis(cause, words, is_index_mistake=True, is_recomputed=True)


@dataclass(frozen=True)
class _Probe:
    """Computes E wrong or right elements again with other scales, from their sums over each of S steps along K."""

    wrong: WrongResult
    of_right: bool = False

    @cached_property
    def sample(self) -> WrongSample:
        """The wrong elements to explain. If some are NaN, some of each block of columns and of rows follow, NaN or not.

        It is empty if rows and columns are NaN in part, because each has its own scales, or if they are very many.
        """
        wrong, scales = self.wrong, self._scales
        if self.of_right:
            return wrong.right_sample
        if not wrong.has_nan:
            return wrong.sample
        unknown = np.isnan(wrong.got)
        lost_rows, lost_columns = unknown.all(axis=1), unknown.all(axis=0)
        columns = _list_ends(lost_columns, scales.columns)
        rows = np.zeros(0, int) if lost_columns.any() else _list_ends(lost_rows, scales.rows)
        is_explained = np.array_equal(unknown, lost_rows[:, None] | lost_columns)
        if not is_explained or len(columns) + len(rows) > _MOST_LINES:
            return WrongSample(wrong, *np.zeros((3, 0), int))
        return wrong.sample_lines(rows, columns)

    def list_mistakes(self) -> Iterator[tuple[str, str]]:
        """Yield the key and the description of every mistake that explains the elements."""
        of_a, of_b = list(self._list_reads("A")), list(self._list_reads("B"))
        own_a, own_b = self._find_own("A"), self._find_own("B")
        for reads, own, name in ((of_a, own_b, "A"), (of_b, own_a, "B")):
            for cause, words, scales in reads:
                if self._fits(self._sums, scales * own):
                    yield cause, words.format(f"the scale of {name}", f"scale of {name}")
        pairs = list(product(of_a, of_b))
        for one, other in pairs:
            if one.words == other.words and self._fits(self._sums, one.scales * other.scales):
                yield one.cause, one.words.format("each scale of A and B", "scales of A and B")
        yield from self._list_other_uses(own_a, own_b)
        for one, other in pairs if self._shows_two_mistakes else ():
            scales = one.scales * other.scales
            if self._fits(self._sums, scales) and (self.of_right or not self._is_factor(scales, own_a * own_b)):
                first = one.words.format("the scale of A", "scale of A")
                yield one.cause, f"{first}; {other.words.format('the scale of B', 'scale of B')}"
        for name, kind in _ROUNDED_SUMS:
            yield from self._list_roundings(name, kind.store)

    @property
    def _shows_two_mistakes(self) -> bool:
        """Whether there are enough wrong numbers for two mistakes at once, of which very many are tried."""
        return int((self.wrong.mask & np.isfinite(self.wrong.got)).sum()) >= _LEAST_NUMBERS

    def _is_factor(self, scales: np.ndarray, right: np.ndarray) -> bool:
        """Whether scales among integers are the right ones times one number, which many pairs of mistakes give."""
        return self.wrong.exact and bool((scales * right[0, 0] == right * scales[0, 0]).all())

    def _list_other_uses(self, a: np.ndarray, b: np.ndarray) -> Iterator[tuple[str, str]]:
        """Yield what explains the elements if right scales were used otherwise than as factors of their own sums."""
        sums, sample = self._sums, self.sample
        if self._fits(sums, self._read_other("A") * self._read_other("B")):
            order = "look at their order among the arguments, and at what indexes them"
            yield "scales exchanged", f"scale_a and scale_b were exchanged: {order}"
        if self._fits(sums, a + b):
            yield "scales added", "the scales of A and B were added instead of multiplied"
        if sums.shape[1] > 1 and self._fits(np.cumsum(sums, axis=1), a * b):
            advice = "set them to 0 after a block"
            yield "sum kept", f"sums of a block along K were added again in each later one: {advice}"
        alpha, whole = sample.wrong.alpha, (sums * a * b).sum(axis=1)
        base = sample.apply_scalars(np.zeros(len(whole)))
        if base.any():
            problem, operands = sample.wrong.problem, sample.wrong.operands
            first_a, first_b = (find_scales(problem, operands, name)[:, :1].T for name in "AB")
            for words, scales in (
                ("the scale of A", a),
                ("the scale of B", b),
                ("the scales of A and B", a * b),
                ("the scale of A of row 0", first_a),
                ("the scale of B of column 0", first_b),
            ):
                if any(self._matches(alpha * whole + base * scales[:, step]) for step in (0, -1)):
                    yield "scale on C", f"{words} multiplied beta C too"
        largest = float(ml_dtypes.finfo(self.wrong.problem.storage("A").numpy_type()).max)  # type: ignore[no-untyped-call]
        clipped = (alpha * whole).clip(-largest, largest) + base, (alpha * whole + base).clip(-largest, largest)
        if any(map(self._matches, (*clipped, alpha * whole.clip(-largest, largest) + base))):
            yield "clipped", f"the result was clipped to {largest:g}, the largest number in the type of A"

    def _list_roundings(self, name: str, store: Callable[[np.ndarray], np.ndarray]) -> Iterator[tuple[str, str]]:
        """Yield what explains the elements if something was rounded between the sums and C."""
        sums, a, b, sample = self._sums, self._find_own("A"), self._find_own("B"), self.sample
        every = f" of {self._scales.depth} products" if self._scales.depth else ""
        rounded, kept = "scale after rounding", np.zeros(len(sums))
        for column in (sums * a * b).T:
            kept = store(kept + column)
        whole, alpha = (sums * a * b).sum(axis=1), sample.wrong.alpha
        early = store(alpha * sums) / alpha if alpha else 0 * sums
        for cause, words, values in (
            (rounded, f"sums{every} were rounded to {name} before their scales were applied", store(sums) * a * b),
            (rounded, f"sums{every} were rounded to {name} after the scale of A was applied", store(sums * a) * b),
            (rounded, f"sums{every} were rounded to {name} after the scale of B was applied", store(sums * b) * a),
            (rounded, f"alpha times sums{every} was rounded to {name} before their scales were applied", early * a * b),
            ("rounded scale", f"the product of two scales was rounded to {name}", sums * store(a * b)),
            ("rounded sums", f"C was rounded to {name} before alpha and beta were applied", store(whole)[:, None]),
            ("rounded sums", f"sums{every} were rounded to {name} before they were added", store(sums * a * b)),
            ("rounded sums", f"sums were kept in {name} from one block of products to the next", kept[:, None]),
            (
                "rounded scale",
                f"A and B were rounded to {name} after their scales were applied to them",
                self._multiply_rounded(store),
            ),
        ):
            if self._agrees(sample.apply_scalars(values.sum(axis=1))):
                yield cause, words
        if self._agrees(store(alpha * whole) + sample.apply_scalars(np.zeros(len(whole)))):
            yield "rounded sums", f"C was rounded to {name} before beta C was added"

    @property
    def _scales(self) -> Scales:
        scales = self.wrong.problem.precision.scales
        assert scales is not None
        return scales

    @property
    def _depth(self) -> int:
        return self._scales.depth or self.wrong.problem.K

    @cached_property
    def _sums(self) -> np.ndarray:
        """The sums without scales, E x S."""
        sample, problem = self.sample, self.wrong.problem
        a, b = (self.wrong.operands[name] for name in "AB")
        raw = sample.products(a.T if problem.trans_a else a, b.T if problem.trans_b else b, sample.i, sample.j)
        return np.asarray(np.add.reduceat(raw, np.arange(0, problem.K, self._depth), axis=1))

    def _multiply_rounded(self, store: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the products, E x K, of A and B that were rounded after their scales were applied to them."""
        sample, problem = self.sample, self.wrong.problem
        a, b = (self.wrong.operands[name] for name in "AB")
        rows = (a.T if problem.trans_a else a)[sample.i].astype(np.float64)
        columns = (b if problem.trans_b else b.T)[sample.j].astype(np.float64)
        each = np.arange(problem.K) // self._depth
        factors = store(rows * self._find_own("A")[:, each]), store(columns * self._find_own("B")[:, each])
        return np.asarray(factors[0] * factors[1])

    def _fits(self, sums: np.ndarray, scales: np.ndarray) -> bool:
        """Return whether all elements are these sums times these scales, with NaN where a scale is NaN.

        Scales that are 0 everywhere say nothing of where they were read.
        """
        sample = self.sample
        values = sample.apply_scalars((sums * scales).sum(axis=1))
        size = np.abs(self.wrong.alpha * sums * scales).sum(axis=1)
        return bool(scales.any()) and self._matches(values, np.maximum(size, sample.scale))

    def _matches(self, values: np.ndarray, size: np.ndarray | None = None) -> bool:
        """Return whether all elements match these values, which are sums of this size, and are NaN where these are."""
        unknown = np.isnan(self.sample.got)
        if not np.array_equal(np.isnan(values), unknown):
            return False
        return bool((self.sample.matches(values, size) | unknown).all())

    def _agrees(self, values: np.ndarray) -> bool:
        """Return whether all elements match these rounded values, and most of them to the last bit.

        A number that was rounded may lie in the middle between two values of C, both of which match it.
        """
        to_last_bit = self.wrong.problem.storage("C").store(values) == self.sample.got
        return bool(self.sample.matches(values).all() and to_last_bit.mean() > _MOSTLY)

    def _find_own(self, name: str) -> np.ndarray:
        """Return the right scales of A or B."""
        sample = self.sample
        scales = find_scales(self.wrong.problem, self.wrong.operands, name)
        return np.asarray(scales[:, sample.i if name == "A" else sample.j].T)

    def _list_reads(self, name: str) -> Iterator[_Read]:
        """Yield what a kernel may have used instead of the scales of A or B."""
        own = self._find_own(name)
        yield _Read("scale ignored", "{} was ignored", np.ones_like(own))
        exponents = np.log2(np.abs(own))
        for words, powers in (
            ("only the exponent of {} was used", np.exp2(np.floor(exponents))),
            ("{} was rounded up to a power of two", np.exp2(np.ceil(exponents))),
            ("{} was rounded to a power of two", np.exp2(np.rint(exponents))),
            ("{} was rounded to a power of two", _round(own, 1, np.rint)),
        ):
            yield _Read("exponent of scale", words, powers)
        for kind, bits in _FEWER_BITS:
            if bits > self.wrong.problem.storage("C").significand and (own == own[0, 0]).all():
                continue  # C cannot tell which small error a single number has
            yield _Read("rounded scale", f"{{}} was rounded to {kind}", _round(own, bits, np.rint))
            yield _Read("rounded scale", f"{{}} was cut to {kind}", _round(own, bits, np.trunc))
        yield _Read("inverse scale", "sums were divided by {} instead of multiplied", 1 / own)
        yield _Read("scale twice", "{} was applied twice", own * own)
        yield from self._list_moved(name)
        yield from self._list_of_other(name)

    def _list_of_other(self, name: str) -> Iterator[_Read]:
        """Yield the scales of the other operand: its own, those at the index of this one, and at the same address."""
        other, line = ("B", self.sample.i) if name == "A" else ("A", self.sample.j)
        at_index = find_scales(self.wrong.problem, self.wrong.operands, other)
        for scales in (self._find_own(other), _take(at_index, line).T, self._read_other(name)):
            yield _Read("scale of other operand", f"the scale of {other} was used for {name}", scales)

    def _read_other(self, name: str) -> np.ndarray:
        """Return the scales of the other operand at the addresses of those of this one."""
        problem, line = self.wrong.problem, self.sample.i if name == "A" else self.sample.j
        mine = problem.operand(f"scale_{name.lower()}")
        row, column = np.indices(mine.shape)
        memory = self._read_memory("B" if name == "A" else "A", row * (mine.shape[1] + mine.padding) + column)
        return np.asarray(find_scales(problem, {mine.name: memory}, name)[:, line].T)

    def _read_memory(self, name: str, at: np.ndarray) -> np.ndarray:
        """Return the scales of A or B at these addresses, where NaN follows each row and the last."""
        operand = self.wrong.problem.operand(f"scale_{name.lower()}")
        stored = self.wrong.operands[operand.name].astype(np.float64)
        memory = np.append(np.pad(stored, ((0, 0), (0, operand.padding)), constant_values=np.nan), np.nan)
        return np.asarray(memory[at.clip(0, memory.size - 1)])

    def _list_moved(self, name: str) -> Iterator[_Read]:
        """Yield scales from other places."""
        own, sample, problem = self._find_own(name), self.sample, self.wrong.problem
        steps = own.shape[1]
        for cause, words, at in _list_other_steps(steps):
            yield _Read(cause, words, _take(own, at))
        for which, step in (("first", 0), ("last", steps - 1)) if steps > 1 else ():
            rest = np.where(np.arange(steps) == step, 1.0, own)
            yield _Read("scale ignored", f"{{}} was ignored in the {which} block along K", rest)
        lines, line, other = ("row", "column", sample.i) if name == "A" else ("column", "row", sample.j)
        count, size = (self._scales.rows, problem.M) if name == "A" else (self._scales.columns, problem.N)
        if count != 1:
            words = f"{{}} was read as if every {lines} had its own"
            yield _Read(f"scale of {lines}", words, np.repeat(self._read_memory(name, other)[:, None], steps, axis=1))
        if not count:
            return
        by_line = find_scales(problem, self.wrong.operands, name)
        what = lines if count == 1 else f"block of {count} {lines}s"
        for which, at in _list_neighbours(other, count, size):
            yield _Read(f"scale of {which} {lines}", f"{{}} was read for the {which} {what}", _take(by_line, at).T)
        yield _Read(f"scale of {lines} 0", f"{{}} was that of {lines} 0 everywhere", by_line[:, 0 * other].T)
        for side in _TILES if count == 1 else ():
            first, end = f"first {lines} of each tile of {side}", f"scale of first {lines} of tile"
            yield _Read(end, f"{{}} was that of the {first}", _take(by_line, other - other % side).T)
        crossed = sample.j if name == "A" else sample.i
        words = f"{{}} was read at the {line} instead of the {lines}"
        yield _Read(f"scale of {line}", words, by_line[:, crossed.clip(0, size - 1)].T)
        yield _Read(f"scale of {line}", words, by_line[:, crossed % size].T)
        step, place = np.arange(steps), other[:, None] // count
        yield from self._list_addressed(name, *((place, step) if name == "B" and count > 1 else (step, place)))

    def _list_addressed(self, name: str, first: np.ndarray, second: np.ndarray) -> Iterator[_Read]:
        """Yield scales at wrong addresses of their indices in memory, where NaN follows each row and the last."""
        operand = self.wrong.problem.operand(f"scale_{name.lower()}")
        rows, columns = operand.shape
        apart = columns + operand.padding
        for cause, words, is_possible, at in (
            ("rows of scales", "with its rows too near each other", operand.padding > 0, first * columns + second),
            ("scales transposed", "with its two indices exchanged", min(rows, columns) > 1, second * rows + first),
        ):
            if not is_possible:
                continue
            scales = self._read_memory(name, at)
            if np.isnan(scales).any():
                how = f", {words}" if min(rows, columns) > 1 else ""
                padding = f"the padding of {operand.name} was read{how}: its rows begin at multiples of {apart} scales"
                if not self.wrong.beta and not (self.wrong.mask & ~self.wrong.unwritten).any():
                    padding += ", or C was not written there"
                yield _Read("padding of scales read", padding, scales)
            else:
                yield _Read(cause, f"{{}} was read {words}", scales)


def _list_other_steps(steps: int) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield mistakes in the step along K of which a scale is read: the key, words, and the step that each one reads.

    With two steps, several mistakes give the same scales. The words then say only what all of them have in common.
    """
    own = np.arange(steps)
    if steps == 2:
        other = "scale of other block"
        yield other, "the second block along K was multiplied with the {1} of the first", 0 * own
        yield other, "the first block along K was multiplied with the {1} of the second", 0 * own + 1
        yield other, "the two blocks along K were multiplied with the {1} of each other", own[::-1]
    if steps <= 2:
        return
    for which, at in _list_neighbours(own, 1, steps):
        yield f"scale of {which} block", f"each block along K was multiplied with the {{1}} of the {which} block", at
    for which, step in (("first", 0), ("last", steps - 1)):
        yield f"scale of {which} block", f"every block along K got the {{1}} of the {which}", 0 * own + step
    opposite = "each block along K was multiplied with the {1} of the block that lies as far from the other end"
    yield "scale of opposite block", opposite, own[::-1]
    only_last = "the last block along K was multiplied with the {1} of the block before"
    yield "scale of previous block", only_last, np.append(own[:-1], steps - 2)


def _list_neighbours(places: np.ndarray, step: int, size: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield places one step on and one step back: cut off at the end, around it, and some outside."""
    moves = ("next", places + step), ("previous", places - step)
    for stay in (lambda moved: moved.clip(0, size - 1), lambda moved: moved % size, np.asarray):
        for which, moved in moves:
            yield which, stay(moved)


def _list_ends(is_lost: np.ndarray, block: int | None) -> np.ndarray:
    """Return the first and last lines of runs of lost or kept ones, and of blocks."""
    begins = np.flatnonzero(np.diff(is_lost, prepend=~is_lost[:1]))
    begins = np.union1d(begins, np.arange(0, len(is_lost), block or len(is_lost)))
    return np.union1d(begins, np.append(begins[1:], len(is_lost)) - 1)


def _take(scales: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return these columns of scales, with 0 for those outside."""
    inside = (places >= 0) & (places < scales.shape[1])
    return np.where(inside, scales[:, np.where(inside, places, 0)], 0)


def _round(values: np.ndarray, bits: int, to_whole: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return values of fewer significand bits."""
    fractions, exponents = np.frexp(values)
    return np.asarray(np.ldexp(to_whole(fractions * 2.0**bits), exponents - bits))
