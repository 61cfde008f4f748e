"""The model by which the fake device times a job, on numbers that a pencil follows."""

import math

import numpy as np
import pytest

from gemmbench.backends.base import Artifact, Build, OperandSet
from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.backends.fake.script import Script
from gemmbench.backends.jobs import CopyStep, LaunchStep
from gemmbench.planning.problems import Problem

CODE = Artifact("code", "", Build())
RATES = {
    "h2d": 64.0,
    "d2h": 32.0,
    "pageable": 16.0,
    "flops": 128.0,
}  # with 64 bytes and 128 operations: 1, 2, 4 and 1 s


@pytest.fixture
def run(make_plan):
    """The parts of a job of steps written as `0 in`, `1 launch`, `0 out`, `1 in after 0`."""
    backend, plan = FakeBackend(Script(transfers=RATES)), make_plan("naive", Problem(4, 4, 4))
    memory, host = backend.allocate(192), np.zeros(64, np.uint8)

    def step(text):
        stream, what, *rest = text.split()
        after = int(rest[1]) if rest else None
        if what == "launch":
            return LaunchStep(int(stream), plan, CODE, OperandSet(0, 64, 128), after)
        return CopyStep(int(stream), host, 0, what == "in", after)

    def go(*texts, pinned=True):
        return backend.job([step(text) for text in texts], memory, pinned).run()

    return go


def test_one_stream_takes_the_sum_and_knows_its_parts(run):
    parts = run("0 in", "0 in", "0 launch", "0 out")
    assert (parts.seconds, parts.h2d, parts.kernel, parts.d2h) == (5, 2, 1, 2)


def test_pageable_memory_is_copied_at_its_own_rate_either_way(run):
    parts = run("0 in", "0 launch", "0 out", pinned=False)
    assert (parts.seconds, parts.h2d, parts.kernel, parts.d2h) == (9, 4, 1, 4)


def test_streams_overlap_and_then_parts_are_not_known(run):
    parts = run("0 in", "0 launch", "0 out", "1 in", "1 launch", "1 out")
    assert parts.seconds == 6  # in 0-1 and 1-2, out 2-4 and, the engine being busy, 4-6
    assert math.isnan(parts.h2d) and math.isnan(parts.kernel) and math.isnan(parts.d2h)


def test_a_step_waits_for_another_stream_if_told(run):
    assert run("0 in", "0 launch", "1 out").seconds == 2
    assert run("0 in", "0 launch", "1 out after 1").seconds == 4


def test_data_go_in_through_the_kernel_and_out(make_plan):
    backend, problem = FakeBackend(), Problem(2, 2, 2, alpha=2.0)
    memory, host = backend.allocate(48), np.zeros(16, np.uint8)
    ones = np.ones(8, np.float32).view(np.uint8)
    steps = [
        CopyStep(0, ones[:16], 0, True),
        CopyStep(0, ones[16:], 16, True),
        LaunchStep(0, make_plan("naive", problem), CODE, OperandSet(0, 16, 32)),
        CopyStep(0, host, 32, False),
    ]
    backend.job(steps, memory, True).run()
    assert (host.view(np.float32) == 4).all()
