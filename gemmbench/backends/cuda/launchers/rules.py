"""What a launcher may do in a timed window: queue work on its stream, and nothing else.

Windows would count the time that it waits for the device, and behind a closed gate it would wait for ever.
A launch that is recorded instead of run shows this: CUDA refuses to wait or to allocate while a stream is
recorded in the mode "global".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from gemmbench.backends.cuda.system.driver import load_bindings
from gemmbench.errors import LaunchError

_GLOBAL, _RELAXED = "GLOBAL", "RELAXED"
_NEXT_STEP = "a launch may only queue work on the stream that it is given"
_DEFAULT_STREAM = "cudaErrorStreamCaptureImplicit"
_ALLOCATIONS = ("MEM_ALLOC", "MEM_FREE")


def count_kernels(queue: Callable[[], object], stream: Any, host: str, take_last_error: Callable[[], str]) -> int:
    """How many kernels, copies and fills the host function `host` queues; `queue` calls it.

    It must have been launched once before, so that its code is loaded. `take_last_error` returns the last error
    of a CUDA call in it. Raises LaunchError, which says what it does that a window cannot contain.
    """
    driver, error = load_bindings("launchers"), take_last_error()
    try:
        nodes = _record(driver, queue, stream, _GLOBAL)
    except LaunchError as fault:
        if error:
            raise LaunchError(_explain_error(host, error)) from fault
        what = _explain_refusal(driver, queue, stream, host, f"{fault} {take_last_error()}")
        take_last_error()
        raise LaunchError(f"{what} ({fault}); {_NEXT_STEP}") from fault
    error = take_last_error() or error
    if any(nodes[kind] for kind in _ALLOCATIONS):
        raise LaunchError(f"allocates inside the launch: {host} allocates on its stream; declare a `workspace`")
    if not nodes:
        nothing = f"queued nothing on its stream: {host} launches nothing, or on another stream; {_NEXT_STEP}"
        raise LaunchError(_explain_error(host, error) if error else nothing)
    return nodes.total()


def _explain_error(host: str, error: str) -> str:
    return f"a CUDA call in {host} fails, which {host} does not return: {error}"


def _explain_refusal(driver: Any, queue: Callable[[], object], stream: Any, host: str, symptom: str) -> str:
    """What the launch does that CUDA refuses; in the mode "relaxed" it may allocate, but it may not wait."""
    if _DEFAULT_STREAM in symptom:
        return f"uses the default stream inside the launch: {host} launches or copies there"
    try:
        _record(driver, queue, stream, _RELAXED)
    except LaunchError:
        return f"synchronises inside the launch: {host} waits for the device"
    return f"allocates inside the launch: {host} allocates, frees or copies memory, for which there is `workspace`"


def _record(driver: Any, queue: Callable[[], object], stream: Any, mode: str) -> Counter[str]:
    """The nodes of a graph of what `queue` queues, by kind. Raises LaunchError if it cannot be recorded."""
    recorded = driver.CUstream(stream.handle)
    _ask(driver, "cuStreamBeginCapture", recorded, _constant(driver.CUstreamCaptureMode, f"STREAM_CAPTURE_MODE_{mode}"))
    try:
        queue()
    except BaseException:
        _, graph = driver.cuStreamEndCapture(recorded)  # otherwise the stream would be unusable
        if graph is not None:
            driver.cuGraphDestroy(graph)
        raise
    graph = _ask(driver, "cuStreamEndCapture", recorded)
    try:
        return _count_nodes(driver, graph)
    finally:
        _ask(driver, "cuGraphDestroy", graph)


def _count_nodes(driver: Any, graph: Any) -> Counter[str]:
    _, count = _ask(driver, "cuGraphGetNodes", graph)
    nodes = _ask(driver, "cuGraphGetNodes", graph, count)[0] if count else []
    kinds = [_ask(driver, "cuGraphNodeGetType", node).name for node in nodes]
    return Counter(kind.removeprefix("CU_GRAPH_NODE_TYPE_") for kind in kinds)


def _constant(kind: Any, name: str) -> Any:
    return getattr(kind, f"CU_{name}")


def _ask(driver: Any, call: str, *arguments: Any) -> Any:
    """What a driver call returns besides its code: nothing, a value, or several. Raises LaunchError."""
    code, *values = getattr(driver, call)(*arguments)
    if code != driver.CUresult.CUDA_SUCCESS:
        raise LaunchError(f"{call} failed: {code.name}")
    return values[0] if len(values) == 1 else values
