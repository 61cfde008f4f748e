"""Candidates in batches: checked on awkward problems, timed in short rounds, measured in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from gemmbench.bench.build import CompilerPool
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.experiments.selection.splitting import split_chains
from gemmbench.bench.memory_account import fit_together
from gemmbench.bench.record import CHECK, RANKING, Record
from gemmbench.bench.runner import Runner
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.sweeps.policy import Policy


@dataclass
class CandidateBatches:
    """Runs candidates in batches, each with the baseline, through the runner of the run.

    Every batch has a number of its own, from `number` on, and so a placement and permutations of its own.
    """

    runner: Runner[Record]
    pool: CompilerPool
    policy: Policy
    shuffle: int
    number: int = 1

    def check(self, chains: Sequence[Chain]) -> list[Record]:
        """Verify chains, and time none."""
        return self._run(chains, None, replace(self.policy, sustained=0.0), CHECK)

    def time(self, chains: Sequence[Chain], baseline: Chain | None, rounds: int) -> list[Record]:
        """Time chains in so many rounds, in blocks of one mirrored pair, without verifying them."""
        return self._run(chains, baseline, replace(self.policy, rounds=rounds, until=0.0, sustained=0.0), RANKING)

    def measure(self, chains: Sequence[Chain], baseline: Chain | None, contest: bool = False) -> list[Record]:
        """Verify and measure chains with the full method; in a `contest` only until it is clear which one wins."""
        return self._run(chains, baseline, self.policy, "final", contest)

    def _run(
        self, chains: Sequence[Chain], baseline: Chain | None, policy: Policy, phase: str, contest: bool = False
    ) -> list[Record]:
        together = [*chains, *([baseline] if baseline else [])]
        name = baseline.name if baseline else ""
        groups = split_chains(together, name, partial(fit_together, self.runner.worker.devices))
        batches = [
            ChainBatch(
                policy=policy,
                chains=group,
                built=tuple(tuple(self.pool.submit(step).result() for step in chain.steps) for chain in group),
                index=self.number + number,
                phase=phase,
                anchors=(name,) if baseline else (),
                shuffle=self.shuffle,
                contest=contest,
            )
            for number, group in enumerate(groups)
        ]
        self.number += len(batches)
        return self.runner.run(batches)
