"""Several launches as one, as calls on a queue."""

import gc
from dataclasses import replace
from types import SimpleNamespace

import pytest

from gemmbench.backends.base import OVERLAP_UNKNOWN, OVERLAPS
from gemmbench.backends.cuda.graphs import count_nodes, find_overlap, join_calls, record_turns
from gemmbench.backends.cuda.window import Calls
from gemmbench.errors import LaunchError

STREAM = SimpleNamespace(handle=7, synchronize=lambda: None)


def calls(name, log, sets=2, kernels=1):
    queue = tuple(lambda index=index: log.append(f"{name}{index}") for index in range(sets))
    return Calls(queue, name, kernels, keep=name)


def test_the_calls_of_one_plan_stay_as_they_are():
    only = calls("a", [])
    assert join_calls([only]) is only


def test_several_plans_are_launched_in_order_on_each_operand_set():
    log = []
    joined = join_calls([replace(calls("a", log), function="a function"), calls("b", log, kernels=2)])
    assert joined.function == "a function"
    for launch in joined.queue:
        launch()
    assert log == ["a0", "b0", "a1", "b1"]
    assert (joined.launch, joined.kernels, joined.keep) == ("a, then b", 3, ["a", "b"])


def test_the_nodes_of_a_graph_are_counted_and_the_graph_is_freed(bindings):
    assert count_nodes(lambda: bindings.queued.extend("abc"), STREAM) == 3
    assert bindings.graphs == 0


def test_a_recording_that_the_driver_refuses_is_an_error(bindings):
    bindings.refused = ("relaxed",)
    with pytest.raises(LaunchError, match="cuStreamEndCapture failed: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"):
        count_nodes(lambda: bindings.queued.append("a"), STREAM)


def test_a_graph_of_turns_holds_all_its_launches(bindings):
    recorded = record_turns(calls("a", bindings.queued), STREAM, 3)
    recorded.graphs.launch()
    assert (bindings.queued[-1], recorded.graph_launches, bindings.graphs) == ("graph of 6", 6, 1)
    del recorded
    gc.collect()
    assert bindings.graphs == 0


@pytest.mark.parametrize(("launches", "copies"), [(0, 1), (1, 1), (3, 3), (9, 4)])
def test_launches_that_wait_together_are_of_different_copies(bindings, launches, copies):
    names, log = iter("abcdef"), []
    bindings.cuGraphInstantiate = lambda graph, flags: (0, next(names))
    bindings.cuGraphLaunch = lambda graph, stream: log.append(graph) or (0,)
    graphs = record_turns(calls("a", []), STREAM, 3).graphs
    graphs.prepare(launches)
    for _ in range(5):
        graphs.launch()
    assert log == list(("abcdef"[:copies] * 5)[:5])


@pytest.mark.parametrize(
    ("product", "overlap"),
    [("a", ""), (["a", "early"], ""), (["early"], OVERLAPS), (["early", "a"], OVERLAPS)],
)
def test_a_product_overlaps_if_its_first_launch_does(bindings, product, overlap):
    assert find_overlap(lambda: bindings.queued.extend(product), STREAM) == overlap
    assert bindings.graphs == 0


def test_what_cannot_be_recorded_cannot_be_examined(bindings):
    bindings.refused = ("relaxed",)
    assert find_overlap(lambda: bindings.queued.append("a"), STREAM) == OVERLAP_UNKNOWN


def test_the_next_product_waits_for_every_launch_of_the_one_before(bindings):
    product = ["a", "early", "early"]  # the last two may end before the first
    calls = Calls((lambda: bindings.queued.extend(product),), "product")
    record_turns(calls, STREAM, 2)
    assert sorted(bindings.added) == [(0, 3), (1, 3)]


def test_products_that_may_overlap_wait_for_nothing_else(bindings):
    record_turns(Calls((lambda: bindings.queued.append("early"),), "product"), STREAM, 3)
    assert bindings.added == []
