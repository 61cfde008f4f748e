"""Rows that are not tried: their configuration timed out or did not compile at another shape.

Every try of a kernel that hangs costs a time limit, and that of a kernel that does not compile
would end as the first did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

from gemmbench.bench.build import Built
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.experiments.trial_record import make_skip_record
from gemmbench.bench.record import Record
from gemmbench.errors import BuildError, LaunchTimeout
from gemmbench.planning.plans.plan import Chain

_TIMEOUT, _FAILED = LaunchTimeout.status, BuildError.status
_Code = tuple[object, ...]


@dataclass
class HopelessRows:
    """Leaves out of each batch what is hopeless after the records so far, as a Runner asks it to."""

    _seen: int = 0
    _failures: dict[_Code, list[Record]] = field(default_factory=dict)

    def leave_out(self, batch: ChainBatch, records: Sequence[Record]) -> tuple[ChainBatch | None, list[Record]]:
        """What is left of a batch, and a skip for every row that is not tried.

        A row that failed already has none, and the best of a sweep is always tried again.
        """
        self._note_failures(records)
        if batch.phase == "final":
            return batch, []
        pairs = list(zip(batch.chains, batch.built, strict=True))
        firsts = [self._find_failure(chain, built, batch.phase) for chain, built in pairs]
        if not any(firsts):
            return batch, []
        hopeful = [first is None for first in firsts]
        chains, built = tuple(compress(batch.chains, hopeful)), tuple(compress(batch.built, hopeful))
        left = replace(batch, chains=chains, built=built) if chains else None
        found = [(chain, first) for chain, first in zip(batch.chains, firsts, strict=True) if first]
        skips = [_make_skip(chain, first) for chain, first in found if first.problem != chain.problem]
        return left, skips

    def _note_failures(self, records: Sequence[Record]) -> None:
        for record in records[self._seen :]:
            if record.status in (_TIMEOUT, _FAILED):
                code = (*record.kernel_key[1:], record.picked, record.backend)
                self._failures.setdefault(code, []).append(record)
        self._seen = len(records)

    def _find_failure(self, chain: Chain, built: Sequence[Built], phase: str) -> Record | None:
        """The first row of this configuration that timed out, or whose code did not compile either.

        One of an earlier phase at the same problem does not count: this phase has to say why.
        """
        faults = {str(code) for code in built if isinstance(code, BuildError)}
        known = self._failures.get((*chain.kernel_key[1:], chain.config.picked, chain.device), [])
        other = [record for record in known if record.problem != chain.problem or record.phase == phase]
        return next((record for record in other if record.status == _TIMEOUT or record.reason in faults), None)


def _make_skip(chain: Chain, first: Record) -> Record:
    happened = "timed out" if first.status == _TIMEOUT else "did not compile"
    reason = first.reason.partition("\n")[0]
    return make_skip_record(replace(chain, reason=f"not tried, because it {happened} at {first.problem}: {reason}"))
