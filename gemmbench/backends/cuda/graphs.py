"""Combines several launches into one: they are queued in turn, or recorded as a CUDA graph and replayed.

pycuda does not support graphs. cuda.bindings, which is installed with nvmath-python, provides them on pycuda's stream.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple

from gemmbench.backends.base import OVERLAP_UNKNOWN, OVERLAPS
from gemmbench.backends.cuda.driver import load_bindings
from gemmbench.backends.cuda.window import Calls, queue_in_turn
from gemmbench.errors import DeviceLost, LaunchError, PlanError

_MOST_COPIES = 4
"""The most copies of a graph to use for repeated launches.

A copy must not be launched while its last launch is waiting.
"""


def join_calls(parts: Sequence[Calls]) -> Calls:
    """Join the calls of several plans on the same operand sets into one.

    The calls of a single plan are returned unchanged.
    """
    if len(parts) == 1:
        return parts[0]
    queues = zip(*(part.queue for part in parts), strict=True)
    words = ", then ".join(part.launch for part in parts)
    kernels = sum(part.kernels for part in parts)
    choice = ", ".join(dict.fromkeys(part.choice for part in parts if part.choice))
    keep, function = [part.keep for part in parts], next((part.function for part in parts if part.function), None)
    queue = tuple(queue_in_turn(queue) for queue in queues)
    return Calls(queue, words, kernels, keep, choice=choice, function=function)


def record_graphs(calls: Calls, stream: Any) -> Calls:
    """Return the same launches with one CUDA graph per stop. Raises LaunchError, NotOffered."""
    driver = _prepare_recording(calls, stream)
    copies = max(1, _MOST_COPIES // len(calls.queue))
    graphs = [GraphCopies(driver, queue, stream, copies) for queue in calls.queue]
    queue, words = tuple(each.launch for each in graphs), f"graph of {calls.launch}"
    return Calls(queue, words, calls.kernels, calls, choice=calls.choice, overlap=calls.overlap)


def record_turns(calls: Calls, stream: Any, turns: int) -> Calls:
    """Return the same launches with a CUDA graph that passes `turns` times over all stops.

    Raises LaunchError, NotOffered.
    """
    driver = _prepare_recording(calls, stream)
    graphs = GraphCopies(driver, queue_in_turn(calls.queue * turns), stream)
    return replace(calls, turns=turns, graphs=graphs, keep=calls)


def count_nodes(queue: Callable[[], object], stream: Any) -> int:
    """Count the kernels and copies that `queue` queues, using a graph. Raises LaunchError, NotOffered."""
    driver = load_bindings("graphs")
    graph = _record(driver, queue, stream)
    code, *found = driver.cuGraphGetNodes(graph)
    _ask(driver, "cuGraphDestroy", graph)
    if code != driver.CUresult.CUDA_SUCCESS:
        raise LaunchError(f"cuGraphGetNodes failed: {code.name}")
    return int(found[-1])


def find_overlap(queue: Callable[[], object], stream: Any) -> str:
    """Record two products that `queue` queues as a graph, and find out whether they may overlap.

    Returns OVERLAPS, OVERLAP_UNKNOWN if no graph can be recorded, or "". The product must have been launched before.
    """
    try:
        driver = load_bindings("graphs")
        first: set[int] = set()

        def queue_two() -> None:
            queue()
            first.update(map(int, _list_captured(driver, stream)))
            queue()

        graph = _record(driver, queue_two, stream)
        edges = _list_edges(driver, graph)
        _ask(driver, "cuGraphDestroy", graph)
    except DeviceLost:
        raise
    except PlanError:
        return OVERLAP_UNKNOWN
    between = (edge for edge in edges if int(edge.source) in first and int(edge.target) not in first)
    return OVERLAPS if any(edge.early for edge in between) else ""


class _Edge(NamedTuple):
    """A dependency in a graph. `target` waits for `source`, but if `early`, it may begin before `source` has ended."""

    source: Any
    target: Any
    early: bool


def _list_edges(driver: Any, graph: Any) -> list[_Edge]:
    """List the edges of a graph. Raises LaunchError."""
    ask = _newest(driver, "cuGraphGetEdges")
    *_, count = _take(driver, "cuGraphGetEdges", ask(graph))
    if not count:
        return []
    sources, targets, data, _ = _take(driver, "cuGraphGetEdges", ask(graph, count))
    early = [bool(each.type or each.from_port) for each in data[:count]]
    return [_Edge(*edge) for edge in zip(sources[:count], targets[:count], early, strict=True)]


def _list_captured(driver: Any, stream: Any) -> list[Any]:
    """Return the nodes that have been recorded from the stream so far. Raises LaunchError."""
    found = _take(
        driver, "cuStreamGetCaptureInfo", _newest(driver, "cuStreamGetCaptureInfo")(driver.CUstream(stream.handle))
    )
    graph = found[2]
    *_, count = _take(driver, "cuGraphGetNodes", driver.cuGraphGetNodes(graph))
    nodes, _ = _take(driver, "cuGraphGetNodes", driver.cuGraphGetNodes(graph, count)) if count else ([], 0)
    return list(nodes)


def _wait_for_overlapped(driver: Any, graph: Any) -> None:
    """Make everything that waits for a node also wait for the nodes that it overlaps with.

    A launch that overlaps with the previous one may end before it. Unlike a stream, a graph would then begin the next
    product. Raises LaunchError.
    """
    edges = _list_edges(driver, graph)
    overlapped: dict[int, list[Any]] = {}
    for edge in edges:
        if edge.early:
            overlapped.setdefault(int(edge.target), []).append(edge.source)
    known = {(int(edge.source), int(edge.target)) for edge in edges}
    added: list[tuple[Any, Any]] = []
    for edge in edges:
        reached = [edge.source] if not edge.early and overlapped else []
        while reached:
            for source in overlapped.get(int(reached.pop()), []):
                reached.append(source)
                if (pair := (int(source), int(edge.target))) not in known:
                    known.add(pair)
                    added.append((source, edge.target))
    if added:
        add, full = _newest(driver, "cuGraphAddDependencies"), [driver.CUgraphEdgeData() for _ in added]
        sources, targets = zip(*added, strict=True)
        _take(driver, "cuGraphAddDependencies", add(graph, list(sources), list(targets), full, len(added)))


def _newest(driver: Any, call: str) -> Any:
    """Return the version of a driver call that supports edge data. CUDA 13 has no other version."""
    return getattr(driver, f"{call}_v2", None) or getattr(driver, call)


def _prepare_recording(calls: Calls, stream: Any) -> ModuleType:
    """Load the driver's bindings and launch once. Raises NotOffered."""
    driver = load_bindings("graphs")
    calls.queue[0]()  # code is loaded at its first launch, which must not happen during recording
    stream.synchronize()
    return driver


class GraphCopies:
    """Identical graphs of the work that `queue` queues. They are launched in turn and freed with this object."""

    def __init__(self, driver: Any, queue: Callable[[], object], stream: Any, copies: int = 1):
        self._driver, self._stream = driver, stream
        self._recorded = _record(driver, queue, stream)
        weakref.finalize(self, driver.cuGraphDestroy, self._recorded).atexit = False
        _wait_for_overlapped(driver, self._recorded)
        self._copies: list[_GraphCopy] = []
        self._launched = 0
        self.prepare(copies)

    def prepare(self, launches: int) -> None:
        """Make up to 4 copies for this many launches without waits between them. Raises LaunchError."""
        missing = min(launches, _MOST_COPIES) - len(self._copies)
        if missing > 0:
            self._copies += [_GraphCopy(self._driver, self._recorded, self._stream) for _ in range(missing)]
            self._stream.synchronize()

    def launch(self) -> None:
        """Queue the next copy. Raises LaunchError."""
        self._copies[self._launched % len(self._copies)].launch()
        self._launched += 1


class _GraphCopy:
    """An executable graph that has been uploaded."""

    def __init__(self, driver: Any, recorded: Any, stream: Any):
        self._driver, self._stream = driver, driver.CUstream(stream.handle)
        self._graph = _ask(driver, "cuGraphInstantiate", recorded, 0)
        weakref.finalize(self, driver.cuGraphExecDestroy, self._graph).atexit = False  # the context is gone by then
        _ask(driver, "cuGraphUpload", self._graph, self._stream)  # or the first launch would do it

    def launch(self) -> None:
        """Queue it. Raises LaunchError."""
        _ask(self._driver, "cuGraphLaunch", self._graph, self._stream)


def _record(driver: Any, queue: Callable[[], object], stream: Any) -> Any:
    """Record the work that `queue` queues. Raises LaunchError, and the errors of `queue`."""
    recorded = driver.CUstream(stream.handle)
    _ask(driver, "cuStreamBeginCapture", recorded, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
    try:
        queue()
    except BaseException:
        driver.cuStreamEndCapture(recorded)  # otherwise the stream would be unusable
        raise
    return _ask(driver, "cuStreamEndCapture", recorded)


def _ask(driver: Any, call: str, *arguments: Any) -> Any:
    """Make a driver call and return its value, if any. Raises LaunchError."""
    values = _take(driver, call, getattr(driver, call)(*arguments))
    return values[0] if values else None


def _take(driver: Any, call: str, returned: Sequence[Any]) -> list[Any]:
    """Return the values that a driver call returned after the error code. Raises LaunchError."""
    code, *values = returned
    if code != driver.CUresult.CUDA_SUCCESS:
        raise LaunchError(f"{call} failed: {code.name}")
    return values
