"""Which chains go into one batch, and which are measured again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter

from gemmbench.planning.networks.network import Network
from gemmbench.planning.plans.chain import Chain
from gemmbench.planning.problems.problem import Problem

LARGEST = 16


def always_fit(chains: Sequence[Chain]) -> bool:
    """There is room for any chains."""
    return True


def split_chains(
    chains: Iterable[Chain], baseline: str, fit_together: Callable[[Sequence[Chain]], bool] = always_fit
) -> list[tuple[Chain, ...]]:
    """Groups of at most 16 chains of one problem that fit on a device, each with the first one of the baseline."""
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


def choose_finalists(
    chains: Sequence[Chain], find_seconds: Callable[[Chain], float | None], baseline: str
) -> list[Chain]:
    """The fastest configuration of every row that was swept, and the baseline.

    The fastest of many is partly the luckiest, so it is measured again on fresh rounds.
    `find_seconds` returns None for a chain without a time.
    """
    swept: dict[tuple[Problem | Network, str], list[tuple[float, Chain]]] = {}
    for chain in chains:
        if (seconds := find_seconds(chain)) is not None:
            swept.setdefault((chain.problem_or_network, chain.name), []).append((seconds, chain))
    best = [min(timed, key=itemgetter(0))[1] for timed in swept.values() if len(timed) > 1]
    names: dict[Problem | Network, set[str]] = {}
    for chain in best:
        names.setdefault(chain.problem_or_network, set()).add(chain.name)
    wanted = [chain for chain in chains if baseline not in names.get(chain.problem_or_network, {baseline})]
    return list(dict.fromkeys([*best, *(chain for chain in wanted if chain.name == baseline)]))


def find_swept(chains: Iterable[Chain]) -> dict[Problem | Network, tuple[str, ...]]:
    """The names with several configurations, by what they compute."""
    counts = Counter((chain.problem_or_network, chain.name) for chain in chains)
    swept: dict[Problem | Network, tuple[str, ...]] = {}
    for (asked, name), count in counts.items():
        if count > 1:
            swept[asked] = (*swept.get(asked, ()), name)
    return swept
