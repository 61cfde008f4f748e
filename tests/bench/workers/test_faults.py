"""Faults: each ends in the right status, is blamed on its row, and the other rows are kept."""

import itertools
import re
from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest

from gemmbench.backends.fake.backend import FakeBackend, FakeStep
from gemmbench.bench.experiments import experiment as experiment_module
from gemmbench.errors import BuildError, LaunchError, LaunchTimeout, NotOffered, OutOfMemory
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("unwritten", "wrong", "exact check: 561 of 561 elements wrong, first C[0][0] = nan"),
        ("zero", "wrong", "exact check: "),
        ("last_column", "wrong", "exact check: 33 of 561 elements wrong, first C[0][16] = nan"),
        ("overrun", "wrong", "guard check: wrote outside its output: 4 bytes after the end of C changed"),
        ("race", "wrong", "audit check: set "),
        ("crash", "failed", "crashed, as scripted"),
    ],
)
def test_a_fault_is_blamed_on_its_row_and_the_others_are_kept(experiment, fault, status, words):
    before, bad, after = experiment("naive", "bad", "cublas", faults={"bad": fault})
    assert (bad.status, bad.checked) == (status, status == "wrong")
    assert bad.reason.startswith(words)
    assert (bad.samples, bad.rounds) == ([], []) and (fault == "race" or not bad.error)
    for good in (before, after):
        assert (good.status, good.reason, len(good.samples)) == ("ok", "", 2)


@pytest.mark.parametrize("cache", ["cold", "hot"])
def test_a_kernel_that_goes_wrong_while_it_is_timed_is_wrong(experiment, launch, cache):
    launches = itertools.count()

    def drifting(self, at):
        FakeStep.launch(self, at)
        self._view(at["C"], "C")[0, 0] += max(0, next(launches) - 25)

    launch(drifting)
    (bad,) = experiment("bad", policy=Policy(cache=cache, rounds=32, until=0.0))
    words = r"audit check: correct before timing, wrong after it: (set 0: )?1 of 561 elements wrong"
    assert bad.status == "wrong" and re.match(words, bad.reason), bad.reason


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (1.5, -0.5)])
@pytest.mark.parametrize("layout", ["nn", "tt"])
def test_a_right_kernel_is_right_for_any_scalars_and_layout(experiment, alpha, beta, layout):
    (record,) = experiment("naive", problem=Problem(9, 31, 20, layout, alpha=alpha, beta=beta))
    assert (record.status, record.check_rule) == ("ok", "rounding")
    assert 0 < record.error < 8


def read_beyond_a(self, at):
    FakeStep.launch(self, at)
    end = at["A"] + self.problem.operand_bytes("A")
    self._view(at["C"], "C")[-1, -1] += self.memory.bytes[end : end + 4].view(np.float32)[0]


def write_beyond_c(self, at, width):
    FakeStep.launch(self, at)
    self.memory.fill(at["C"] + self.problem.operand_bytes("C"), width, 0)


def spoil_a(self, at):
    FakeStep.launch(self, at)
    self.memory.fill(at["A"], 4, 0)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (read_beyond_a, "C[32][16] = nan"),
        (partial(write_beyond_c, width=4), "4 bytes after the end of C changed"),
        (partial(write_beyond_c, width=2048), "2048 bytes after the end of C changed"),
        (spoil_a, "changed its input A"),
    ],
)
def test_a_kernel_that_does_what_it_should_not_is_the_only_one_blamed(experiment, launch, function, words):
    launch(function)
    before, bad, after = experiment("naive", "bad", "cublas")
    assert bad.status == "wrong" and words in bad.reason, bad.reason
    for good in (before, after):
        assert (good.status, good.reason) == ("ok", "")


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (LaunchError("x"), "failed"),
        (LaunchTimeout("x"), "timeout"),
        (OutOfMemory("x"), "out of memory"),
        (NotOffered("x"), "skipped"),
    ],
)
@pytest.mark.parametrize("verb", ["load", "bind"])
def test_a_back_end_that_refuses_a_plan_gives_its_row_the_status(experiment, watch_calls, verb, fault, status):
    def refuse(self, *arguments, **options):
        name = arguments[0] if verb == "bind" else arguments[1].variant.name
        if name == "bad":
            raise fault

    watch_calls(FakeBackend, verb, refuse)
    good, bad = experiment("naive", "bad")
    assert (bad.status, bad.reason) == (status, "x")
    assert (good.status, len(good.samples)) == ("ok", 2)


def test_what_did_not_compile_keeps_the_compiler_s_words(experiment):
    bad, good = experiment("bad", "naive", built={"bad": BuildError("cuda/bad.cu:7: error")})
    assert (bad.status, bad.reason, bad.registers, bad.artifact) == ("failed", "cuda/bad.cu:7: error", -1, "")
    assert good.status == "ok"


@pytest.mark.parametrize(
    ("place", "fault", "words"),
    [
        ("allocate", MemoryError("Unable to allocate 12 GiB"), "MemoryError: Unable to allocate 12 GiB"),
        ("load", ValueError("a bug"), "ValueError: a bug"),
        ("bind", RecursionError(), "RecursionError"),
    ],
)
def test_an_exception_of_the_host_costs_the_rows_of_its_batch_and_says_where(
    experiment, monkeypatch, place, fault, words
):
    with monkeypatch.context() as patch:
        patch.setattr(FakeBackend, place, Mock(side_effect=fault))
        rows = experiment("naive", "tiled", built={"tiled": BuildError("tiled.cu:7: error")})
    assert [row.status for row in rows] == ["failed", "failed"]
    assert rows[0].reason.startswith(f"gemmbench failed, not the kernel: {words} (bench/")
    assert rows[1].reason == "tiled.cu:7: error"  # a row that had failed already keeps its reason
    assert [row.status for row in experiment("naive", "tiled")] == ["ok", "ok"]


def test_an_exception_while_references_are_made_costs_the_batch_too(experiment, monkeypatch):
    monkeypatch.setattr(experiment_module.Verification, "run", lambda *_: 1 / 0)
    (row,) = experiment("naive")
    assert row.status == "failed" and "ZeroDivisionError: division by zero" in row.reason
