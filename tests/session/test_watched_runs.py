"""Accesses are watched on the host before `verify` launches a kernel: what that fails, and what is not launched."""

import pytest

from gemmbench.backends import registry
from gemmbench.backends.base import Watched, WatchedFault
from gemmbench.backends.fake.entry import FakeEntry
from gemmbench.errors import BuildError, DeviceError, Unsupported
from gemmbench.planning.plans import configurations
from gemmbench.planning.sweeps.run_request import make_request
from gemmbench.session.machine import find_machine
from gemmbench.session.reporter import SILENT
from gemmbench.session.verification_runs import verify_kernels

OUTSIDE = WatchedFault("reads outside", "mine.cu:9", "mine.cu:9: reads outside A", 3)
RACE = WatchedFault("race", "mine.cu:7", "mine.cu:7: race on As", 11)


class PlayedWatcher:
    """Sees what a test says of each size; keeps the plans."""

    def __init__(self, seen=None, fault=None):
        self.seen, self.fault, self.plans = seen or {}, fault, []

    def watch(self, plan):
        """As Watcher."""
        self.plans.append(plan)
        if self.fault:
            raise self.fault
        return self.seen.get(plan.problem.size, Watched(()))


@pytest.fixture
def gpu(tmp_path, monkeypatch):
    """The fake device, whose kernels are watched as those of a GPU are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(FakeEntry, "is_watched", True)
    return find_machine("fake", SILENT)


@pytest.fixture
def verify(gpu, write_kernel, monkeypatch):
    """Verify the kernel `mine` with a watcher."""

    def run(watcher, **changed):
        write_kernel("mine.cu", **changed.pop("manifest", {}))
        monkeypatch.setattr(registry, "make_watcher", lambda limit: watcher)
        how = {name: changed.pop(name) for name in ("every", "exit_first", "pdl", "watch") if name in changed}
        request = {"sizes": "8", "precisions": "f32", "layouts": "nn", "kernels": "kernels", **changed}
        return verify_kernels(make_request(variants=("mine",), **request), gpu, **how)

    return run


def statuses(found):
    """Status and reason of each record that is not right."""
    return [(record.status, record.reason) for record in found.records if record.status != "ok"]


def test_both_awkward_shapes_and_the_smallest_that_is_asked_for_are_watched(verify):
    watcher = PlayedWatcher()
    found = verify(watcher, sizes="17x8x8,9x8x8,4096x8192x64")
    assert [plan.problem.size for plan in watcher.plans] == ["129x67x50", "68x132x52", "9x8x8", "256x512x64"]
    assert all(plan.device == "cpu" and plan.problem.beta == -0.5 for plan in watcher.plans)
    assert statuses(found) == []


def test_a_fault_fails_a_right_kernel_and_keeps_it_from_the_gpu(verify):
    watcher = PlayedWatcher({"129x67x50": Watched((RACE,)), "68x132x52": Watched((OUTSIDE, RACE))})
    (fault, skip) = verify(watcher).records
    assert (fault.status, fault.diagnosis) == ("failed", "watched: reads outside mine.cu:9")
    assert fault.problem.size == "68x132x52"
    assert fault.reason == "mine.cu:9: reads outside A\nat 129x67x50, mine.cu:7: race on As"
    assert (skip.status, skip.reason) == (
        "skipped",
        "not launched because of the fault above; --device cpu judges its results, --no-watch launches it",
    )


def test_a_race_is_launched_since_it_does_no_harm(verify):
    found = verify(PlayedWatcher({"129x67x50": Watched((RACE,))}))
    assert [record.status for record in found.records] == ["failed", "ok"]


def test_without_watching_everything_is_launched(verify):
    watcher = PlayedWatcher({"129x67x50": Watched((RACE,))})
    assert statuses(verify(watcher, watch=False)) == []
    assert watcher.plans == []


@pytest.mark.parametrize("fault", [Unsupported("uses inline PTX"), BuildError("no such type"), DeviceError("no g++")])
def test_what_cannot_be_watched_is_verified_all_the_same_with_the_reason(verify, fault):
    found = verify(PlayedWatcher(fault=fault))
    assert statuses(found) == []
    assert found.remarks == [{"mine": f"accesses not watched: {fault}"}, {}]


def test_the_first_fault_can_end_it(verify):
    watcher = PlayedWatcher({"129x67x50": Watched((RACE,))})
    found = verify(watcher, exit_first=True)
    assert [record.status for record in found.records] == ["failed"]


def test_a_launch_that_does_not_end_is_the_last(verify):
    watcher = PlayedWatcher({"129x67x50": Watched((), ("mine.cu:9 goes on",), ended=False)})
    assert statuses(verify(watcher)) == []
    assert len(watcher.plans) == 1


def test_an_index_that_overflows_on_a_huge_problem_is_told_and_fails_nothing(verify, monkeypatch):
    overflow = WatchedFault("overflow", "mine.cu:9", "mine.cu:9: 32768 * 65536 overflows an int", 0)
    watcher = PlayedWatcher({"65536x65536x32": Watched((OUTSIDE, overflow))})
    monkeypatch.setattr(configurations, "SHAPES", ((7, 5, 3),))
    monkeypatch.setattr(configurations, "LARGE", (17, 18, 19))
    found = verify(watcher, sizes=None)
    assert statuses(found) == []
    assert found.remarks == [
        {},
        {"mine": "not a failure, but at 65536x65536x32, mine.cu:9: 32768 * 65536 overflows an int"},
    ]


def test_each_declared_epilogue_and_d_is_watched_with_packed_rows(verify):
    watcher = PlayedWatcher()
    kinds = {"kinds": ["one", "padded", "separate_c"], "epilogue": ["bias", "scale"]}
    arguments = ["M", "N", "K", "alpha", "A", "B", "beta", "C", "bias", "scale", "D"]
    verify(watcher, sizes=None, precisions=None, layouts=None, manifest={**kinds, "args": arguments})
    problems = [plan.problem for plan in watcher.plans if plan.problem.epilogue or plan.problem.separate_c]
    assert {(each.epilogue, each.separate_c) for each in problems} == {
        ((), True), (("bias", "scale"), False), (("bias", "scale"), True)
    }  # fmt: skip
    assert not any(each.ld for each in problems)


@pytest.mark.parametrize(
    ("kinds", "counts", "shapes"),
    [
        (["one", "many", "groups"], ["count", "offsets", "groups"], [(1, 0), (1, 6), (1, 6), (1, 130), (3, 0)]),
        (["many"], ["count"], [(3, 0)]),
    ],
)
def test_each_declared_batch_and_groups_are_watched_once(verify, kinds, counts, shapes):
    watcher = PlayedWatcher()
    manifest = {"kinds": kinds, "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C", *counts]}
    verify(watcher, sizes=None, precisions=None, layouts=None, manifest=manifest)
    M, N, K = configurations.WATCHED[0]
    watched = [plan.problem for plan in watcher.plans if (plan.problem.M, plan.problem.N, plan.problem.K) == (M, N, K)]
    assert sorted((each.count, len(each.groups)) for each in watched) == shapes
