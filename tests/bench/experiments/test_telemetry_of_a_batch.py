"""A batch on a device that says something of itself."""

import pytest

from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.backends.fake.script import Script
from gemmbench.planning.sweeps.policy import Policy

SAYS = {"power": 300, "temperature": 41, "slowed": ["power cap"], "others": 1}


@pytest.fixture
def watched():
    return FakeBackend(Script(watch=SAYS, times={"naive": 2e-3, "tiled": 1e-3}))


def test_every_record_of_a_batch_says_what_was_seen(experiment, watched):
    for record in experiment("naive", "tiled", backend=watched, policy=Policy(rounds=60, until=0.0)):
        telemetry = record.telemetry
        assert (telemetry.temperature, telemetry.other_processes) == (41, 1)
        assert telemetry.readings >= 1 and telemetry.energy is None


def test_a_device_that_says_nothing_leaves_nothing(experiment):
    (record,) = experiment("naive")
    assert record.telemetry is None and record.samples


def test_a_row_that_fails_has_nothing_that_was_seen(experiment):
    backend = FakeBackend(Script(watch=SAYS, faults={"bad": "crash"}))
    good, bad = experiment("naive", "bad", backend=backend)
    assert good.telemetry is not None and bad.telemetry is None


def test_verifying_alone_looks_at_nothing(experiment, watched):
    (record,) = experiment("naive", backend=watched, measured=False)
    assert record.telemetry is None
