"""A worker in a process of its own: a plan that kills it, hangs in it or loses the device is blamed alone."""

from functools import partial

import pytest
import yaml

from gemmbench import backends
from gemmbench.backends.base import Artifact, Build
from gemmbench.bench.experiments.batch import Batch
from gemmbench.bench.worker.remote import Remote
from gemmbench.errors import DeviceError
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.policy import Measuring

SMALL = Problem(16, 8, 4)
CODE = Artifact("code", "", Build())


@pytest.fixture
def remote(tmp_path):
    """A remote fake device with these faults."""

    def start(limit=60.0, faults=None, **options):
        script = tmp_path / "script.yaml"
        script.write_text(yaml.safe_dump({"faults": faults or {}}))
        machine = backends.describe(backends.choose(f"fake:{script}"))
        return Remote(partial(backends.open_backends, machine, ["fake"], True), limit, **options)

    return start


@pytest.fixture
def batch(make_plan):
    def make(*names, rounds=2):
        plans = tuple(make_plan(name, SMALL) for name in names)
        return Batch(3, SMALL, plans, (CODE,) * len(plans), Measuring(rounds=rounds, until=0.0, cache="hot"))

    return make


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("die", "failed", "the kernel brought the worker process down: its process was ended by SIGSEGV"),
        ("lose", "failed", "the device is lost, as scripted"),
        ("hang", "timeout", "did not end within 0.5 s, the time limit of a launch"),
    ],
)
def test_the_plan_at_fault_gets_the_blame_and_the_others_their_numbers(remote, batch, fault, status, words):
    asked = batch("naive", "bad", "worse", "cublas")
    with remote(0.5, {"bad": fault, "worse": "lose"}) as laboratory:
        before, bad, worse, after = laboratory.experiment(asked)
        assert (bad.status, bad.reason, bad.samples) == (status, words, [])
        assert (worse.status, worse.reason) == ("failed", "the device is lost, as scripted")
        for good in (before, after):
            assert (good.status, len(good.samples), good.batch_key, good.batch_rows) == ("ok", 2, asked.key, 4)
        (again,) = laboratory.experiment(batch("naive"))
        assert again.status == "ok"


def test_the_devices_are_known_before_the_first_batch(remote):
    with remote() as laboratory:
        assert laboratory.devices["fake"].name == "Fake GPU"


def test_without_timing_plans_are_verified(remote, batch):
    with remote(measured=False) as laboratory:
        (record,) = laboratory.experiment(batch("naive"))
    assert (record.checked, record.samples) == (True, [])


def test_an_interruption_reaches_the_process_and_progress_comes_back(remote, batch):
    said = []
    pressed = []
    options = {"progress": lambda *what: said.append(what) or pressed.append(1), "interrupted": lambda: bool(pressed)}
    with remote(**options) as laboratory:
        records = laboratory.experiment(batch("naive", rounds=100000))
    assert [record.stopped for record in records] in ([], ["interrupted"])
    assert said


def test_a_device_that_does_not_open_is_told():
    gone = partial(backends.choose, "cuda:99")
    with Remote(gone, 1.0) as laboratory, pytest.raises(DeviceError, match="device cuda:99 cannot be used"):
        laboratory.devices  # noqa: B018


def test_a_bug_in_the_process_is_told_with_its_place():
    with Remote(partial(int, "x"), 1.0) as laboratory, pytest.raises(DeviceError, match=r"(?s)failed:.*ValueError"):
        laboratory.devices  # noqa: B018
