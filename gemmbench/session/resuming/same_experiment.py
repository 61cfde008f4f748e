"""Whether an unfinished run is the experiment that is asked for now, or a part of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from gemmbench.bench.record import Environment
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.problems import PanelCut
from gemmbench.report.differences.run_differences import explain_other_machine
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.text import count_noun

_DIGEST_BYTES = 4


def hash_plans(chains: Iterable[Chain], cut: PanelCut | None = None) -> list[str]:
    """A short hash of every row that is planned, and of how jobs with transfers are cut."""
    asked = [f"{chain.problem_or_network!r} {chain.name} {sorted(chain.config.values)}" for chain in chains]
    asked += [f"transfers in {cut.panels} panels on {cut.streams} streams"] if cut else []
    return [hashlib.blake2s(text.encode(), digest_size=_DIGEST_BYTES).hexdigest() for text in asked]


def explain_difference(there: Run, here: Environment) -> str:
    """Why the rows of a run must not be mixed with those that are asked for now, or ""."""
    earlier = there.environment
    if earlier.schema != here.schema:
        return f"measured by an older gemmbench (schema {earlier.schema}, this one writes {here.schema})"
    if difference := explain_other_machine(earlier, here):
        return f"measured {difference}"
    for name in ("sweep", "post", "baseline"):
        before, now = getattr(earlier, name), getattr(here, name)
        if before != now:
            return f"another experiment: its {name} is {before or 'none'}, that of this run is {now or 'none'}"
    for name in earlier.policy | here.policy:  # a run does not record what it left open
        before, now = (each.policy.get(name, "the default") for each in (earlier, here))
        if before != now:
            return f"another experiment: its {name} is {before}, that of this run is {now}"
    return _explain_missing_rows(there, here)


def _explain_missing_rows(there: Run, here: Environment) -> str:
    """A run may be resumed with more rows than it had, not with fewer."""
    missing = set(there.planned) - set(here.planned)
    if not missing:
        return ""
    return f"another experiment: this run lacks {len(missing)} of its {count_noun(len(set(there.planned)), 'row')}"
