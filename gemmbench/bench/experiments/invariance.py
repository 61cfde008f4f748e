"""Batch invariance: whether the bits of a row of C depend on M, on the place of the row, or on other rows or groups."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np

from gemmbench.backends.base import Artifact, Executable
from gemmbench.bench.build import Built, name_code
from gemmbench.bench.experiments.batch import Batch, ChainBatch, hash_parts
from gemmbench.bench.experiments.context import ExperimentContext
from gemmbench.bench.experiments.experiment import DeviceExperiment
from gemmbench.bench.experiments.setup import Setup
from gemmbench.bench.experiments.trial import Trial, fail_together
from gemmbench.bench.experiments.workload import gemm_workload
from gemmbench.bench.operands.operand_values import Operands, make_inputs, make_operands, make_unit_scales
from gemmbench.bench.operands.products import view_factor, view_products
from gemmbench.bench.record import CHECK
from gemmbench.errors import PlanError, shorten_reason
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.problems import Problem

HEIGHTS = (1, 2, 7, 64, 129, 4096)
"""The M of the problems in which the bits of a row are compared, or the rows of the first group."""
_LAST = 2
"""The rows of the last group, one of HEIGHTS, so that there is one problem whose first and last group are alike."""
_MORE_PLACES = (16, 77)
"""Rows of A that are alike besides the first, middle and last one: the first of a second tile, and an odd one."""
_INVARIANT = "invariant"
SKIPPED = "skipped"
_OK = "ok"


@dataclass(frozen=True)
class RowBits:
    """The row of C at one M, one of HEIGHTS: a digest of its `bits` at row 0, and what else they depend on at this M.

    `last` is a digest of such a row of the last group, which has the same row of A and is as long at every M, and
    "" if there are no groups. `launch`: equal launches give other bits. `place`: other rows of C, for the same row of A
    in products or groups as high, have other bits. `others`: row 0 changes with the rest of A, and with the other
    products or groups. Where nothing ran, `status` and `reason` say why.
    """

    M: int
    bits: str = ""
    last: str = ""
    launch: bool = False
    place: bool = False
    others: bool = False
    status: str = _OK
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class InvarianceBatch(Batch[RowBits]):
    """One variant at several M, all else being equal.

    `built` holds the code of each chain's steps, or why there is none.
    """

    chains: tuple[Chain, ...]
    built: tuple[tuple[Built, ...], ...]

    @property
    def title(self) -> str:
        """See Batch."""
        return f"invariance of {self.chains[0].name}"

    @property
    def keys(self) -> tuple[str, ...]:
        """See Batch."""
        rows = [(chain.problem, chain.name, chain.config, chain.device) for chain in self.chains]
        return (hash_parts(self.policy, rows, *map(name_code, itertools.chain(*self.built))),)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """See Batch."""
        return tuple(dict.fromkeys(step.variant for chain in self.chains for step in chain.steps))

    def name_row(self, number: int) -> str | None:
        """See Batch."""
        return self.chains[number].name if 0 <= number < len(self.chains) else None


def vary_rows(problem: Problem, M: int) -> Problem:
    """Return the problem at which rows are compared: with another M or, of groups, M rows in the first of three."""
    groups = (M, 1, _LAST) if problem.groups else ()
    return replace(problem, M=sum(groups) or M, groups=groups, alpha=1.0, beta=0.0)


def find_height(problem: Problem) -> int:
    """Return the M with which `vary_rows` made a problem."""
    return problem.groups[0] if problem.groups else problem.M


def compare_row_bits(context: ExperimentContext, batch: InvarianceBatch) -> list[RowBits]:
    """Launch every chain on operands with a row in common; what is found at each M, up to an interruption.

    Raises DeviceLost.
    """
    found: list[RowBits] = []
    for number, chain in enumerate(batch.chains):
        if context.is_interrupted():
            break
        context.progress(batch.title, number, len(batch.chains))
        found.append(_compare_at_one_height(context, batch, chain, number))
    return found


def _compare_at_one_height(context: ExperimentContext, batch: InvarianceBatch, chain: Chain, number: int) -> RowBits:
    built = batch.built[number]
    trial = Trial(chain.without_pdl(), number, [each for each in built if isinstance(each, Artifact)])
    fault = next((each for each in built if isinstance(each, PlanError)), None) or batch.find_fault(number)
    alone = ChainBatch(policy=batch.policy, chains=(chain,), built=(built,), phase=CHECK)
    experiment = _RowExperiment(context, gemm_workload(chain.problem), context.backends[chain.device], alone, [trial])
    with fail_together([trial]):
        if fault is not None:
            raise fault
        experiment.run()
    if experiment.found is None:
        return RowBits(find_height(chain.problem), status=trial.status, reason=shorten_reason(trial.reason))
    return experiment.found


class _RowExperiment(DeviceExperiment):
    """Launches its only trial on rows of A that are alike, and compares the rows of C."""

    found: RowBits | None = None

    def _run(self, setup: Setup) -> None:
        self._allocate_scratch()
        for trial in self.alive:
            with trial.catch_faults():
                self.found = _compare_rows(setup, trial, self.batch.policy.seed)


def _compare_rows(setup: Setup, trial: Trial, seed: int) -> RowBits:
    """Launch twice on the same operands, then with other rows around those that are alike. Raises PlanError."""
    problem = trial.chain.problem
    inputs, others = (make_alike_rows(problem, seed, number) for number in (1, 2))
    setup.arena.write(inputs, 1)  # before it is bound, since a library may try its algorithms then
    executable = setup.bind_first_set(trial)
    first, again = (_launch(setup, trial, executable, inputs) for _ in range(2))
    setup.arena.write(others, 1)
    changed = _launch(setup, trial, executable, others)
    M, last = find_height(problem), first[-1] if problem.groups else ""
    alike = first[: len(list_places(M))] if problem.groups and M != _LAST else first
    unlike = any(bits != first[0] for bits in alike)
    return RowBits(M, first[0], last, first != again, unlike, first[0] != changed[0])


def _launch(setup: Setup, trial: Trial, executable: Executable, inputs: Operands) -> list[str]:
    """Launch a trial; a digest of each row of C that should be like the first."""
    problem = trial.chain.problem
    setup.arena.reset(inputs, 1, trial.fills[0])
    trial.poison_scratch()
    executable.time(1)
    compared = {each.rows[problem.result.name]: each.M for each in (problem.slices[0], problem.slices[-1])}
    rows = np.array([first + row for first, M in compared.items() for row in list_places(M)])
    return [blake2b(row.tobytes(), digest_size=16).hexdigest() for row in setup.arena.read_rows(rows, 0)]


def list_places(M: int) -> list[int]:
    """The rows of A that are alike, in order."""
    return sorted({row for row in (0, M // 2, M - 1, *_MORE_PLACES) if row < M})


def make_alike_rows(problem: Problem, seed: int, number: int) -> Operands:
    """Operands with one row of A in several places, and one B, of which both depend on N, K and the seed only.

    Of several products or groups, that is so in the first and the last one. Scales are 1. All other values differ from
    one `number` to the next.
    """
    lone = replace(problem, M=1, count=1, groups=())
    row, drawn = make_operands(lone, "normal", seed), make_operands(problem, "normal", seed + number)
    operands = {name: array.copy() for name, array in make_inputs(drawn, problem.beta).items()}
    operands |= make_unit_scales(operands)
    for product in {0, len(problem.slices) - 1}:
        places = list_places(problem.slices[product].M)
        view_factor(problem, operands, "A")[product][places] = view_factor(lone, row, "A")[0][0]
        view_products(problem, operands, "B")[product][:] = view_products(lone, row, "B")[0]
    return operands


def describe_invariance(found: Sequence[RowBits], of_groups: bool = False) -> str:
    """`invariant`, or what the bits of a row depend on, and in parentheses where it did not run."""
    ran = [each for each in found if each.status == _OK]
    causes = _list_causes(ran, of_groups)
    told = "depends on " + "; on ".join(causes) if causes else _INVARIANT if ran else "unknown"
    missing: dict[str, list[int]] = {}
    for each in found:
        if each.status != _OK:
            words = each.status if each.status == SKIPPED else f"{each.status}: {each.reason}"
            missing.setdefault(words, []).append(each.M)
    listed = {words: _name_heights(", ".join(map(str, each)), of_groups) for words, each in missing.items()}
    left = "; ".join(f"{heights}: {words}" for words, heights in listed.items())
    return f"{told} ({left})" if left else told


def _list_causes(ran: Sequence[RowBits], of_groups: bool) -> list[str]:
    """What the bits depend on. If that is the launch, nothing else can be told."""
    place, others, at = ("place or group", "groups", "in") if of_groups else ("place", "products", "at")
    if unsteady := [each.M for each in ran if each.launch]:
        return [f"the launch: equal ones differ {at} {_name_heights(_join(unsteady), of_groups)}"]
    causes = []
    around = "the rows of other groups", [each.M for each in ran if each.last != ran[0].last]
    own = "the rows of its group" if of_groups else "M", [each.M for each in ran if each.bits != ran[0].bits]
    if own[1] == around[1]:
        own, around = ("the rows of all groups", own[1]), ("", [])
    for what, unlike in (own, around):
        if unlike:
            causes.append(f"{what}: {_join(unlike)} differ{'s' * (len(unlike) == 1)} from {ran[0].M}")
    for name, heights in (
        (f"the row's {place}", [each.M for each in ran if each.place]),
        (f"other rows or {others}", [each.M for each in ran if each.others]),
    ):
        if heights:
            causes.append(f"{name} {at} {_name_heights(_join(heights), of_groups)}")
    return causes


def _name_heights(heights: str, of_groups: bool) -> str:
    return f"groups of {heights} rows" if of_groups else f"M = {heights}"


def _join(heights: Sequence[int]) -> str:
    """`7`, `64 and 129`, `1, 2 and 7`."""
    *first, last = map(str, heights)
    return f"{', '.join(first)} and {last}" if first else last
