"""Hostile kernels of batches, groups, epilogues and scales: the problem that each computes, and the expected row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from gemmbench.planning.problems import Problem

TESTS = Path(__file__).parent
PROBLEMS = {
    "hostile_many": Problem(35, 21, 19, alpha=1.5, beta=-0.5, count=7),
    "hostile_groups": Problem(36, 21, 19, alpha=1.5, beta=-0.5, groups=(5, 0, 12, 1, 0, 18, 0)),
    "hostile_epilogue": Problem(40, 40, 133, alpha=1.5, beta=-0.5),
    "hostile_scales": Problem(140, 150, 300, "nt", "e4m3_blocks", alpha=1.5, beta=-0.5),
}


@dataclass(frozen=True)
class HostileCase:
    """A hostile kernel, the problem that it computes wrongly, and the expected row; `timed` if only timing shows it."""

    name: str
    problem: Problem
    timed: bool
    status: str
    diagnosis: str
    words: str

    def __str__(self) -> str:
        return self.name

    def check_row(self, status: str, diagnosis: str, reason: str) -> None:
        """Fail unless a row is as expected."""
        assert (status, diagnosis) == (self.status, self.diagnosis), reason
        assert self.words in reason


def list_cases(folder: str, device: str) -> list[HostileCase]:
    """Return the kernels of a folder in tests/, with the rows that this device must give."""
    cases = []
    for name, written in yaml.safe_load((TESTS / folder / "expected.yaml").read_text()).items():
        wanted, timed = {"status": "wrong", **written, **written.get(device, {})}, "beta" in written
        usual, steps = PROBLEMS[folder], tuple(written.get("epilogue", ()))
        problem = replace(usual, epilogue=steps, count=written.get("count", usual.count))
        problem = replace(problem, precision_name=written.get("precision", usual.precision_name))
        problem = replace(problem, alpha=1.0, beta=0.0) if timed else problem
        cases.append(HostileCase(name, problem, timed, wanted["status"], wanted["diagnosis"], wanted["words"]))
    return cases
