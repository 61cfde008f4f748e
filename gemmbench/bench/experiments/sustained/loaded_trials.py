"""Steady loads of the trials of a batch, each audited after its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gemmbench.backends.base import Executable
from gemmbench.bench.experiments.auditing.audit import Audit
from gemmbench.bench.experiments.setup import Setup
from gemmbench.bench.experiments.sustained.blocks import SustainedBlocks
from gemmbench.bench.experiments.trial import DAMAGED, Trial
from gemmbench.bench.operands.arena import Inputs


def load_trials(setup: Setup, trials: Sequence[Trial]) -> None:
    """Load a GPU with each trial alone, if the policy asks for it, and audit it again.

    Rows that are measured again get their load then.
    """
    seconds = setup.policy.choose_sustained(setup.batch.chains[0].problem.precision)
    loaded = [trial for trial in trials if trial.alive and trial.name not in setup.batch.repeated]
    if not seconds or not loaded or not setup.backend.device.target.is_gpu:
        return
    inputs = setup.make_timed_inputs()
    setup.arena.prepare(inputs)
    is_intact, check = partial(_is_intact, setup, inputs), partial(_audit_load, setup.make_audit(inputs))
    baseline = next(iter(setup.batch.anchors), None)
    blocks = SustainedBlocks(setup, seconds, is_intact, check)
    blocks.run(loaded, next((trial for trial in loaded if trial.name == baseline), None))


def _is_intact(setup: Setup, inputs: Inputs, trial: Trial) -> bool:
    """Whether a load wrote nothing but its outputs. If not, the trial ends, and the operands are restored."""
    with trial.catch_faults():
        if not setup.arena.find_damage():
            return True
        trial.fail_guard(DAMAGED)
        setup.arena.prepare(inputs)
    return False


def _audit_load(audit: Audit, trial: Trial, executable: Executable) -> None:
    """Audit a trial that has run under a steady load, and let the arena hold the timed inputs again."""
    audit.begin()
    try:
        audit.run(trial, executable)
    finally:
        audit.end()
