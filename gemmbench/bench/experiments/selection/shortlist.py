"""The shortlist: configurations that a short load ranks first, where there are too many to measure in full.

The heuristic of cuBLASLt offers up to 64 algorithms for a problem. Each gets a short load, without
being verified; the fastest few are then verified and measured as every other row is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from gemmbench.planning.networks import Network
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

_ROUNDS = 2


def make_ranking_policy(policy: Policy) -> Policy:
    """The same policy for short loads: one pair of rounds and no steady load."""
    return replace(policy, rounds=_ROUNDS, until=0.0, sustained=0.0)


def find_candidates(chains: Iterable[Chain]) -> list[tuple[Chain, ...]]:
    """The configurations to rank: those of one variant and problem, if they exceed its shortlist."""
    groups: dict[tuple[Problem | Network, str], list[Chain]] = {}
    for chain in chains:
        if chain.variant.shortlist:
            groups.setdefault((chain.problem_or_network, chain.name), []).append(chain)
    return [tuple(group) for group in groups.values() if len(group) > group[0].variant.shortlist]


def choose_shortlist(
    chains: Sequence[Chain],
    candidates: Iterable[Sequence[Chain]],
    find_seconds: Callable[[Chain], float | None],
) -> list[Chain]:
    """The chains that are left to measure in full, in their order.

    Of each group of candidates these are the fastest. Where no candidate has a time, the first ones
    stay, so that a row says why.
    """
    dropped: set[int] = set()
    for group in candidates:
        seconds = [find_seconds(chain) for chain in group]
        timed = sorted((each, number) for number, each in enumerate(seconds) if each is not None)
        places = [number for _, number in timed] or list(range(len(group)))
        kept = set(places[: group[0].variant.shortlist])
        dropped |= {id(chain) for number, chain in enumerate(group) if number not in kept}
    return [chain for chain in chains if id(chain) not in dropped]
