"""Several launches as one, as calls on a queue."""

import gc
import sys
from types import SimpleNamespace

import pytest

from gemmbench.backends.cuda.graphs import count_nodes, join_calls, record_turns
from gemmbench.backends.cuda.window import Calls
from gemmbench.errors import LaunchError


def calls(name, log, sets=2, kernels=1):
    queue = tuple(lambda index=index: log.append(f"{name}{index}") for index in range(sets))
    return Calls(queue, name, kernels, keep=name)


def test_the_calls_of_one_plan_stay_as_they_are():
    only = calls("a", [])
    assert join_calls([only]) is only


def test_several_plans_are_launched_in_order_on_each_operand_set():
    log = []
    joined = join_calls([calls("a", log), calls("b", log, kernels=2)])
    for launch in joined.queue:
        launch()
    assert log == ["a0", "b0", "a1", "b1"]
    assert (joined.launch, joined.kernels, joined.keep) == ("a, then b", 3, ["a", "b"])


OK, REFUSED = SimpleNamespace(name="CUDA_SUCCESS"), SimpleNamespace(name="CUDA_ERROR_STREAM_CAPTURE_INVALIDATED")


class Driver:
    """A driver that records what is queued between the beginning and the end of a recording."""

    CUresult = SimpleNamespace(CUDA_SUCCESS=OK)
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED=2)
    CUstream = staticmethod(lambda handle: handle)

    def __init__(self, log, refuses=False):
        self.log, self.refuses, self.alive = log, refuses, 0

    def cuStreamBeginCapture(self, stream, mode):
        self.log.clear()
        return (OK,)

    def cuStreamEndCapture(self, stream):
        self.alive += not self.refuses
        return (REFUSED, None) if self.refuses else (OK, tuple(self.log))

    def cuGraphGetNodes(self, graph):
        return OK, list(graph), len(graph)

    def cuGraphInstantiate(self, graph, flags):
        return OK, graph

    def cuGraphDestroy(self, graph):
        self.alive -= 1
        return (OK,)

    def cuGraphLaunch(self, graph, stream):
        self.log += [f"graph of {len(graph)}"]
        return (OK,)

    cuGraphUpload = cuGraphExecDestroy = staticmethod(lambda *_: (OK,))


@pytest.fixture
def record(monkeypatch):
    """A driver that can be asked, the log of what is queued, and a stream."""

    def make(refuses=False):
        log = []
        driver = Driver(log, refuses)
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)
        return driver, log, SimpleNamespace(handle=7, synchronize=lambda: None)

    return make


def test_the_nodes_of_a_graph_are_counted_and_the_graph_is_freed(record):
    driver, log, stream = record()
    assert count_nodes(lambda: log.extend("abc"), stream) == 3
    assert driver.alive == 0


def test_a_recording_that_the_driver_refuses_is_an_error(record):
    _, log, stream = record(refuses=True)
    with pytest.raises(LaunchError, match="cuStreamEndCapture failed: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"):
        count_nodes(lambda: log.append("a"), stream)


def test_a_graph_of_turns_holds_all_its_launches(record):
    driver, log, stream = record()
    recorded = record_turns(calls("a", log), stream, 3)
    recorded.graphs.launch()
    assert (log[-1], recorded.graph_launches, driver.alive) == ("graph of 6", 6, 1)
    del recorded
    gc.collect()
    assert driver.alive == 0


@pytest.mark.parametrize(("launches", "copies"), [(0, 1), (1, 1), (3, 3), (9, 4)])
def test_launches_that_wait_together_are_of_different_copies(record, monkeypatch, launches, copies):
    driver, log, stream = record()
    names = iter("abcdef")
    monkeypatch.setattr(driver, "cuGraphInstantiate", lambda graph, flags: (OK, next(names)))
    monkeypatch.setattr(driver, "cuGraphLaunch", lambda graph, stream: log.append(graph) or (OK,))
    graphs = record_turns(calls("a", log), stream, 3).graphs
    log.clear()
    graphs.prepare(launches)
    for _ in range(5):
        graphs.launch()
    assert log == list(("abcdef"[:copies] * 5)[:5])
