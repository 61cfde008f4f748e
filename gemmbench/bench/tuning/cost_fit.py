"""Fits the constants of a pick's candidates to surveyed times, and judges picks at shapes left out of the fit.

Constants of each candidate are fitted by non-negative least squares of relative errors with cyclic coordinate descent.
Each is drawn towards its default, which the times of all candidates of the same variant scale first, so a few times
cannot lead a candidate astray. Constants that candidates share are fitted by least squares of the logarithms of times
with the method of Levenberg and Marquardt, so the estimate need not be linear in them. In both, times far from the fit
count less (Cauchy weights).
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemmbench.bench.tuning.survey import SurveyedShape
from gemmbench.errors import UsageError
from gemmbench.planning.manifests.card_costs import FittedCosts, RegionCosts
from gemmbench.planning.manifests.variant import Candidate, Pick, Variant
from gemmbench.planning.plans.evaluation import Excluded, Names
from gemmbench.planning.plans.expansion import collect_names, estimate_time, evaluate_costs, group_picks, order_group
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.problems import Problem

Array = NDArray[np.float64]
UNIT = 1e-12
"""Seconds of one unit of an estimate."""
_PROBE = 10**6
"""A cost large enough that rounding to whole numbers does not remove its share of an estimate."""
_FAR, _ROUGH = 0.08, 0.25
"""From this relative error on, a time counts less: in the fit of a candidate, and of all candidates of a variant."""
_PULL = 0.5
"""The default of a constant counts as much as this many times."""
_ROUNDS, _PASSES, _STILL = 6, 2000, 1e-7
_NONLINEAR = 0.05
_STEP, _MOST_STEPS, _DAMPING, _LEAST_GAIN = 0.05, 25, 0.01, 1e-3
_SLOW = 3.0
"""A candidate that takes this many times the shortest time is no rival there, so its time says little."""
_MOST_TIMES = 4000
"""Of the times of a variant whose candidates share constants, at most this many are used."""


def is_held_out(problem: Problem, share: float, seed: int) -> bool:
    """Return whether a problem is left out of the fit, together with all others of its shape."""
    text = f"{seed} {problem.M} {problem.N} {problem.K}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") < share * 2**32


def list_terms(variant: Variant, pick: Pick, names: Names) -> tuple[float, list[float]]:
    """Return the estimate of a candidate without constants, and what a constant of 1 adds, constant by constant.

    Raises Excluded if the estimate has no value here, and UsageError if it is not linear in its constants.
    """
    assert pick.estimate is not None, "only candidates have one"
    defaults = evaluate_costs(variant, pick, names)
    zero = dict.fromkeys(defaults, 0)

    def estimate(costs: Mapping[str, int]) -> int:
        return estimate_time(variant, pick, names, {(pick.region, pick.candidate): costs})

    base = float(estimate(zero))
    terms = [(estimate({**zero, name: _PROBE}) - base) / _PROBE for name in defaults]
    expected = base + sum(term * cost for term, cost in zip(terms, defaults.values(), strict=True))
    if abs(estimate(defaults) - expected) > _NONLINEAR * abs(expected) + len(terms):
        place = variant.cite_line(pick.estimate.line)
        raise UsageError(
            f"{place}: the estimate of {pick.variant} is not a sum of its constants, each times something, so they "
            "cannot be fitted; write it so"
        )
    return base, terms


def check_linear(variant: Variant, target: Target) -> None:
    """Raise UsageError if an estimate with constants of each candidate is not linear in them, or cannot be fitted."""
    for pick in variant.picks:
        if pick.estimate is not None and pick.code is not None:
            names = collect_names(variant, Problem(512, 512, 512, precision_name=pick.code.precisions[0]), target)
            _evaluate_defaults(variant, pick, names, target)
            if not pick.shares_costs:
                with suppress(Excluded):  # it has no value there
                    list_terms(variant, pick, names)


def _evaluate_defaults(variant: Variant, pick: Pick, names: Names, target: Target) -> dict[str, int]:
    """Return the defaults of constants. Raises UsageError if one has no value on this card."""
    try:
        return evaluate_costs(variant, pick, names)
    except Excluded as fault:
        raise UsageError(f"costs.{pick.variant}: no value for {target.name or 'this card'}: {fault}") from None


def fit_nonnegative(shares: Array, goal: Array, prior: Array, pull: float = _PULL) -> Array:
    """Return the constants, none below 0, with which shares (times, constants) add up to goal (times,).

    They are drawn towards `prior`, which counts as much as `pull` times.
    """
    scale = np.sqrt(np.mean(shares**2, axis=0)) if len(shares) else np.zeros(len(prior))
    known = scale > 0
    costs: Array = prior.astype(np.float64)
    if not known.any():
        return costs
    columns, start = shares[:, known] / scale[known], prior[known] * scale[known]
    found, weights = start.copy(), np.ones(len(goal))
    for _ in range(_ROUNDS):
        weighted = columns * weights[:, None]
        products = weighted.T @ weighted + pull * np.eye(len(start))
        aims = weighted.T @ (goal * weights) + pull * start
        for _ in range(_PASSES):
            before = found.copy()
            for j in range(len(found)):
                found[j] = max(0.0, found[j] + (aims[j] - products[j] @ found) / products[j, j])
            if np.abs(found - before).max() < _STILL:
                break
        weights = 1 / np.sqrt(1 + ((columns @ found - goal) / _FAR) ** 2)
    costs[known] = found / scale[known]
    return costs


@dataclass(frozen=True)
class _Terms:
    """The estimates and times of one candidate at those shapes for which it competes."""

    bases: list[float]
    terms: list[list[float]]
    times: list[float]


class _Region:
    """The candidates of one region in one precision, with their terms and constants."""

    def __init__(self) -> None:
        self.picks: dict[Candidate, Pick] = {}
        self.data: dict[Candidate, _Terms] = {}
        self.defaults: dict[Candidate, Array] = {}
        self.costs: dict[Candidate, Array] = {}

    def add(self, pick: Pick, defaults: Array) -> None:
        self.picks[pick.candidate] = pick
        self.data[pick.candidate] = _Terms([], [], [])
        self.defaults[pick.candidate] = defaults

    def list_shares(self, candidate: Candidate) -> tuple[Array, Array]:
        """Return the terms and what the constants must give, both as shares of the times."""
        found, count = self.data[candidate], len(self.defaults[candidate])
        times = np.array(found.times)
        terms = np.array(found.terms, float).reshape(len(times), count)
        return terms / times[:, None], 1 - np.array(found.bases) / times


def fit_costs(
    variant: Variant, target: Target, shapes: Sequence[SurveyedShape], wrong: Collection[Candidate] = ()
) -> list[RegionCosts]:
    """Fit the constants of all candidates in the precisions of these shapes, but not of those that were wrong.

    Candidates without times get their scaled defaults. A region at whose shapes nothing was timed is left out. Raises
    UsageError if an estimate is not linear in its constants.
    """
    found: list[RegionCosts] = []
    for precision in dict.fromkeys(shape.problem.precision_name for shape in shapes):
        mine = [shape for shape in shapes if shape.problem.precision_name == precision]
        shared = _fit_shared(variant, target, mine)
        if shared:
            known = {pick.candidate for pick in variant.picks if pick.shares_costs}
            found.append(RegionCosts(precision, "", {**shared, **{name: None for name in wrong if name in known}}))
        regions = _collect_regions(variant, target, mine)
        for name, scales in _fit_scales(regions.values()).items():
            for region in regions.values():
                _fit_region(region, name, scales)
        for kind, region in regions.items():
            if any(each.times for each in region.data.values()) or any(name in wrong for name in region.picks):
                costs = {name: None if name in wrong else _name_costs(region, name) for name in region.picks}
                together = found.pop().costs if shared and not kind else {}
                found.append(RegionCosts(precision, kind, {**costs, **together}))
    return found


def _fit_shared(
    variant: Variant, target: Target, shapes: Sequence[SurveyedShape]
) -> dict[Candidate, Mapping[str, int]]:
    """Return the constants of each variant whose candidates share them, if it has times."""
    rivals: dict[str, list[_Rival]] = {}
    for shape in shapes:
        names = collect_names(variant, shape.problem, target)
        picks = _list_rivals(variant, names, shape)
        best = min((shape.times[pick.candidate] for pick in picks), default=0.0)
        for pick in picks:
            seconds = shape.times[pick.candidate]
            if pick.shares_costs and seconds < _SLOW * best:
                rivals.setdefault(pick.variant, []).append(_Rival(pick, names, seconds / UNIT, best / seconds))
    return {each[0].pick.costs_key[1]: _fit_rivals(variant, target, each) for each in rivals.values()}


@dataclass(frozen=True)
class _Rival:
    """The time of a candidate for a problem with these names, and how much it counts: 1 for the fastest."""

    pick: Pick
    names: Names
    time: float
    weight: float


def _fit_rivals(variant: Variant, target: Target, rivals: list[_Rival]) -> Mapping[str, int]:
    """Return the constants with which the estimates of a variant's candidates are nearest to their times."""
    if len(rivals) > _MOST_TIMES:
        rivals = random.Random(len(rivals)).sample(rivals, _MOST_TIMES)
    pick = rivals[0].pick
    defaults = _evaluate_defaults(variant, pick, rivals[0].names, target)
    times, counts = (np.array([getattr(each, name) for each in rivals]) for name in ("time", "weight"))

    def name_costs(logarithms: Array) -> dict[str, int]:
        values = (round(float(f"{math.exp(each):.3g}")) for each in logarithms)
        return dict(zip(defaults, values, strict=True))

    def find_errors(logarithms: Array) -> Array:
        fitted = {pick.costs_key: name_costs(logarithms)}
        estimates = [max(1, estimate_time(variant, each.pick, each.names, fitted)) for each in rivals]
        return np.asarray(np.log(np.array(estimates, float)) - np.log(times))

    prior = np.log(np.maximum(1.0, np.array(list(defaults.values()), float)))
    found, damping = prior.copy(), _DAMPING

    def find_cost(errors: Array, logarithms: Array) -> float:
        far = np.log1p((errors / _ROUGH) ** 2) * _ROUGH**2
        return float(counts @ far + _ROUGH**2 * _PULL * np.sum((logarithms - prior) ** 2))

    errors = find_errors(found)
    cost = find_cost(errors, found)
    for _ in range(_MOST_STEPS):
        slopes = np.column_stack([(find_errors(found + step) - errors) / _STEP for step in _STEP * np.eye(len(found))])
        weights = counts / (1 + (errors / _ROUGH) ** 2)
        pull = _ROUGH**2 * _PULL
        normal = slopes.T @ (weights[:, None] * slopes) + pull * np.eye(len(found))
        aims = -slopes.T @ (weights * errors) - pull * (found - prior)
        while damping < 1 / _STILL:
            step = np.clip(np.linalg.solve(normal + damping * np.diag(np.diag(normal)), aims), -1, 1)
            tried = find_errors(found + step)
            if (now := find_cost(tried, found + step)) < cost:
                break
            damping *= 4
        else:
            break
        gain, found, errors, cost = cost - now, found + step, tried, now
        damping = max(damping / 4, _STILL)
        if gain < _LEAST_GAIN * cost:
            break
    return name_costs(found)


def _name_costs(region: _Region, candidate: Candidate) -> dict[str, int]:
    """Return constants with three digits, by name."""
    names = [name for name, _ in region.picks[candidate].costs]
    values = [round(float(f"{cost:.3g}")) for cost in region.costs[candidate]]
    return dict(zip(names, values, strict=True))


def _collect_regions(variant: Variant, target: Target, shapes: Sequence[SurveyedShape]) -> dict[str, _Region]:
    """Collect the terms of all candidates at the shapes for which they compete."""
    regions: dict[str, _Region] = {}
    names = collect_names(variant, shapes[0].problem, target)
    precision = shapes[0].problem.precision_name
    for pick in variant.picks:
        if pick.estimate is None or pick.shares_costs or pick.code is None or precision not in pick.code.precisions:
            continue
        region = regions.setdefault(pick.region, _Region())
        if pick.candidate not in region.picks:
            defaults = list(_evaluate_defaults(variant, pick, names, target).values())
            region.add(pick, np.array(defaults, float))
    for shape in shapes:
        names = collect_names(variant, shape.problem, target)
        for pick in _list_rivals(variant, names, shape):
            if pick.shares_costs:
                continue
            region = regions[pick.region]
            try:
                base, terms = list_terms(variant, pick, names)
            except Excluded:
                continue
            data = region.data[pick.candidate]
            data.bases.append(base)
            data.terms.append(terms)
            data.times.append(shape.times[pick.candidate] / UNIT)
    return regions


def _list_rivals(variant: Variant, names: Names, shape: SurveyedShape) -> list[Pick]:
    """Return the candidates with times that compete for a shape: none if a row without candidates serves it."""
    for group in group_picks(variant, names):
        if isinstance(group, Excluded):
            continue
        picks = [variant.picks[number] for number in group]
        timed = [pick for pick in picks if pick.candidate in shape.times]
        if timed:
            return [pick for pick in timed if pick.estimate is not None]
    return []


def _fit_scales(regions: Collection[_Region]) -> dict[str, Array]:
    """Return by how much the times of all candidates of each variant scale the defaults of its constants."""
    scales: dict[str, Array] = {}
    for name in dict.fromkeys(candidate[0] for region in regions for candidate in region.picks):
        shares, goals = [], []
        for region in regions:
            for candidate in (each for each in region.picks if each[0] == name):
                share, goal = region.list_shares(candidate)
                shares.append(share * region.defaults[candidate])
                goals.append(goal)
        count = shares[0].shape[1]
        scales[name] = fit_nonnegative(np.concatenate(shares), np.concatenate(goals), np.ones(count))
    return scales


def _fit_region(region: _Region, name: str, scales: Array) -> None:
    """Fit the constants of a variant's candidates in a region."""
    for candidate in (each for each in region.picks if each[0] == name):
        region.costs[candidate] = fit_nonnegative(*region.list_shares(candidate), scales * region.defaults[candidate])


@dataclass(frozen=True)
class JudgedPick:
    """What is picked at a surveyed shape, with the fitted constants and with those in use, and what would be best.

    Times are in seconds; NaN if what is picked was not timed. `library` is "" if none was timed.
    """

    shape: SurveyedShape
    picked: Candidate | None
    seconds: float
    seconds_in_use: float
    best: Candidate
    best_seconds: float
    library: str
    library_seconds: float

    @property
    def loss(self) -> float:
        """How much longer the pick takes than the best candidate."""
        return self.seconds / self.best_seconds - 1

    @property
    def loss_in_use(self) -> float:
        """The same with the constants in use."""
        return self.seconds_in_use / self.best_seconds - 1

    @property
    def share(self) -> float:
        """The speed of the pick as a share of that of the best library."""
        return self.library_seconds / self.seconds

    @property
    def best_share(self) -> float:
        """The speed of the best candidate as a share of that of the best library."""
        return self.library_seconds / self.best_seconds

    @property
    def is_aligned(self) -> bool:
        """Whether every row of A, B and C is a multiple of 16 bytes."""
        problem = self.shape.problem
        return all(problem.storage(name).nbytes(problem.stored_shape(name)[1]) % 16 == 0 for name in "ABC")


def judge_picks(
    variant: Variant,
    target: Target,
    shapes: Iterable[SurveyedShape],
    fitted: Mapping[str, FittedCosts],
    in_use: Mapping[str, FittedCosts],
) -> list[JudgedPick]:
    """Judge what is picked at shapes with times of candidates. Both kinds of constants are given by precision."""
    judged = []
    candidates = {pick.candidate for pick in variant.picks}
    for shape in shapes:
        known = {name: seconds for name, seconds in shape.times.items() if name in candidates}
        if not known:
            continue
        best = min(known, key=lambda name: known[name])
        libraries = {name[0]: seconds for name, seconds in shape.times.items() if name not in candidates}
        library = min(libraries, key=lambda name: libraries[name], default="")
        precision = shape.problem.precision_name
        picked = find_pick(variant, target, shape, fitted.get(precision, {}))
        now = find_pick(variant, target, shape, in_use.get(precision, {}))
        judged.append(
            JudgedPick(
                shape,
                picked,
                known.get(picked, math.nan) if picked else math.nan,
                known.get(now, math.nan) if now else math.nan,
                best,
                known[best],
                library,
                libraries.get(library, math.nan),
            )
        )
    return judged


def find_pick(variant: Variant, target: Target, shape: SurveyedShape, fitted: FittedCosts) -> Candidate | None:
    """Return the first candidate in the order of the pick that was timed at a shape."""
    names = collect_names(variant, shape.problem, target)
    for group in group_picks(variant, names):
        if isinstance(group, Excluded):
            continue
        for number in order_group(variant, group, names, fitted):
            if isinstance(number, int) and variant.picks[number].candidate in shape.times:
                return variant.picks[number].candidate
    return None
