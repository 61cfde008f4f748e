"""Which chains go into one batch, and which are measured again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter

from gemmbench.planning.networks.network import Network
from gemmbench.planning.plans.chain import Chain
from gemmbench.planning.problems.problem import Problem

LARGEST = 16


def split_chains(chains: Iterable[Chain], baseline: str) -> list[tuple[Chain, ...]]:
    """Groups of at most 16 chains of one problem, each with the first one of the baseline."""
    problems: dict[Problem | Network, list[Chain]] = {}
    for chain in chains:
        problems.setdefault(chain.problem_or_network, []).append(chain)
    return [group for same in problems.values() for group in _split_problem(same, baseline)]


def _split_problem(chains: Sequence[Chain], baseline: str) -> list[tuple[Chain, ...]]:
    anchor = [chain for chain in chains if chain.name == baseline][:1]
    others = [chain for chain in chains if chain not in anchor]
    room = LARGEST - len(anchor)
    groups = [others[start : start + room] for start in range(0, len(others), room)] or [[]]
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
