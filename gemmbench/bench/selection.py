"""Selects the rows to measure in full after short loads and the rows to measure again, and splits rows into batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from gemmbench.bench.record import Ranking
from gemmbench.planning.networks import Network
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

LARGEST = 16


def _always_fit(chains: Sequence[Chain]) -> bool:
    """Return True, because any chains fit."""
    return True


def split_chains(
    chains: Iterable[Chain], baseline: str, fit_together: Callable[[Sequence[Chain]], bool] = _always_fit
) -> list[tuple[Chain, ...]]:
    """Split the chains of a problem into groups of at most 16 that fit on a device.

    Each contains the baseline's first chain.
    """
    problems: dict[Problem | Network, list[Chain]] = {}
    for chain in chains:
        problems.setdefault(chain.problem_or_network, []).append(chain)
    return [group for same in problems.values() for group in _split_problem(same, baseline, fit_together)]


def _split_problem(
    chains: Sequence[Chain], baseline: str, fit_together: Callable[[Sequence[Chain]], bool]
) -> list[tuple[Chain, ...]]:
    anchor = [chain for chain in chains if chain.name == baseline][:1]
    groups: list[list[Chain]] = [[]]
    for chain in (chain for chain in chains if chain not in anchor):
        longer = [*groups[-1], chain, *anchor]
        if groups[-1] and (len(longer) > LARGEST or not fit_together(longer)):
            groups.append([])
        groups[-1].append(chain)
    return [(*group, *anchor) for group in groups if group or anchor]


def find_repeated(chains: Sequence[Chain], baseline: str, policy: Policy) -> dict[Problem | Network, tuple[str, ...]]:
    """Return, by problem, the names of the rows to measure again. These are the rows with several configurations.

    If there are steady loads and the baseline has several configurations, all rows are measured again, because each
    load is compared with adjacent loads of the baseline's best configuration.
    """
    counts = Counter((chain.problem_or_network, chain.name) for chain in chains)
    repeated: dict[Problem | Network, list[str]] = {}
    for chain in chains:
        asked, name = chain.problem_or_network, chain.name
        loaded = policy.choose_sustained(chain.problem.precision) > 0 and counts[asked, baseline] > 1
        if (counts[asked, name] > 1 or loaded) and name not in repeated.setdefault(asked, []):
            repeated[asked].append(name)
    return {asked: tuple(names) for asked, names in repeated.items()}


def choose_finalists(
    chains: Sequence[Chain], find_seconds: Callable[[Chain], float | None], baseline: str, policy: Policy
) -> list[Chain]:
    """Choose the fastest configuration of every row that is measured again, and the baseline.

    The fastest of many configurations is partly the luckiest, so it is measured again in fresh rounds. `find_seconds`
    returns None for a chain without a time.
    """
    repeated = find_repeated(chains, baseline, policy)
    timed: dict[tuple[Problem | Network, str], list[tuple[float, Chain]]] = {}
    for chain in chains:
        if (seconds := find_seconds(chain)) is not None:
            timed.setdefault((chain.problem_or_network, chain.name), []).append((seconds, chain))
    best = [min(each, key=itemgetter(0))[1] for (asked, name), each in timed.items() if name in repeated.get(asked, ())]
    names: dict[Problem | Network, set[str]] = {}
    for chain in best:
        names.setdefault(chain.problem_or_network, set()).add(chain.name)
    wanted = [chain for chain in chains if baseline not in names.get(chain.problem_or_network, {baseline})]
    return list(dict.fromkeys([*best, *(chain for chain in wanted if chain.name == baseline)]))


_ROUNDS = 4
_WITHIN = 0.03


def make_ranking_policy(policy: Policy) -> Policy:
    """Return the policy for short loads: two mirrored pairs of rounds and no steady load."""
    return replace(policy, rounds=_ROUNDS, until=0.0, sustained=0.0)


def find_candidates(chains: Iterable[Chain]) -> dict[tuple[Problem | Network, str], tuple[Chain, ...]]:
    """Return the configurations to rank, by problem and name.

    A variant is included if it has more configurations than its shortlist holds.
    """
    groups: dict[tuple[Problem | Network, str], list[Chain]] = {}
    for chain in chains:
        if chain.variant.shortlist:
            groups.setdefault((chain.problem_or_network, chain.name), []).append(chain)
    return {asked: tuple(group) for asked, group in groups.items() if len(group) > group[0].variant.shortlist}


def rank_candidates(candidates: Sequence[Chain], find_seconds: Callable[[Chain], float | None]) -> Ranking:
    """Rank configurations and choose those within 3 % of the fastest, up to the length of the shortlist.

    `find_seconds` returns None for a chain without a time. If no chain has a time, the first ones are chosen, so that a
    row gives the reason.
    """
    seconds = [find_seconds(chain) for chain in candidates]
    timed = sorted((each, number) for number, each in enumerate(seconds) if each is not None)
    near = [number for each, number in timed if each <= (1 + _WITHIN) * timed[0][0]]
    places = near or list(range(len(candidates)))
    return Ranking(
        candidates=len(candidates),
        tried=len(timed),
        best=[each for each, _ in timed[:2]],
        shortlist=[dict(candidates[number].config.values) for number in places[: candidates[0].variant.shortlist]],
    )


def keep_shortlists(chains: Iterable[Chain], rankings: Mapping[tuple[Problem | Network, str], Ranking]) -> list[Chain]:
    """Return the chains that remain to be measured in full, in order. `rankings` is keyed by problem and name."""
    found = ((chain, rankings.get((chain.problem_or_network, chain.name))) for chain in chains)
    return [chain for chain, ranking in found if not ranking or dict(chain.config.values) in ranking.shortlist]
