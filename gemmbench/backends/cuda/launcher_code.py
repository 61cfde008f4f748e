"""The code around a launcher: its text for nvcc, its arguments, and the check that it only queues work."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from ctypes import Array, Structure, addressof, c_double, c_longlong, c_void_p, create_string_buffer
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gemmbench.backends.cuda.driver import load_bindings
from gemmbench.backends.cuda.launch import pack_scalars
from gemmbench.errors import LaunchError
from gemmbench.planning.manifests.code_keys import FLOAT_TYPES
from gemmbench.planning.manifests.variant import NULL, OPERANDS, SCALARS, STREAM
from gemmbench.planning.plans.evaluation import to_row_major
from gemmbench.planning.plans.plan import PassedArgument, Plan
from gemmbench.planning.problems import Problem

_STANDARD = ("M", "N", "K", "alpha", "A", "B", "beta", "C", "workspace", STREAM)
_WHOLE, _FRACTION, _ADDRESS, _NOTHING = "i", "f", "p", "0"


class Slot(Structure):
    """An argument as declared in launcher.h."""

    _fields_ = (("whole", c_longlong), ("number", c_double), ("address", c_void_p))


@dataclass(frozen=True)
class LauncherArgument:
    """An argument of a host function. `written` is the name of a standard argument."""

    passed: PassedArgument
    written: str = ""

    def __str__(self) -> str:
        return self.written or self.place or str(self.passed.value)

    @property
    def kind(self) -> str:
        """The letter in launcher.h for the member of a slot that holds the value."""
        passed = self.passed
        if passed.role == NULL:
            return _NOTHING
        if passed.by_pointer or passed.role in (*OPERANDS, STREAM):
            return _ADDRESS
        return _FRACTION if passed.role in SCALARS or passed.ctype in FLOAT_TYPES.values() else _WHOLE

    @property
    def place(self) -> str:
        """The name of the object that it points to, if it is an address."""
        return f"&{self.passed.ctype} {self.passed.role}" if self.passed.by_pointer else self.passed.role

    def fill(self, problem: Problem, addresses: Mapping[str, int]) -> Slot:
        """Return the slot for a launch. `addresses` holds an address for each `place`."""
        if self.kind == _ADDRESS:
            return Slot(address=addresses[self.place] or None)
        value = {"alpha": problem.alpha, "beta": problem.beta}.get(self.passed.role, self.passed.value)
        return Slot(number=value) if self.kind == _FRACTION else Slot(whole=int(value))


def list_arguments(plan: Plan) -> list[LauncherArgument]:
    """Return the arguments of a plan's host function, in order."""
    if plan.arguments:
        return [LauncherArgument(passed) for passed in plan.arguments]
    return [LauncherArgument(_map_standard_argument(plan, name), name) for name in _STANDARD]


class HostScalars:
    """Scalars of a plan that its host function takes by pointer. They stay in host memory, as for cuBLAS."""

    def __init__(self, plan: Plan):
        self._buffers = {argument: create_string_buffer(packed, 16) for argument, packed in pack_scalars(plan).items()}

    def find(self, argument: PassedArgument) -> int:
        """Return the address of a scalar."""
        return addressof(self._buffers[argument])


def _map_standard_argument(plan: Plan, name: str) -> PassedArgument:
    """Return a standard argument with the meaning that it has in the manifest. If that is column-major, A means B."""
    sizes = count_sizes(plan)
    return PassedArgument("", "int", sizes[name]) if name in sizes else PassedArgument(to_row_major(plan.variant, name))


def count_sizes(plan: Plan) -> dict[str, int]:
    """Return M, N and K with the meaning that they have in the manifest."""
    seen = plan.problem.column_major if plan.variant.call.column_major else plan.problem
    return {"M": seen.M, "N": seen.N, "K": seen.K}


def pack_slots(slots: Sequence[Slot]) -> Array[Slot]:
    """Return the slots as a C array."""
    return (Slot * len(slots))(*slots)


RUN, WORKSPACE = "gemmbench_run", "gemmbench_workspace"
"""The functions that call the manifest's functions."""

_HEADER = Path(__file__).with_name("launcher.h")
_CALL = """extern "C" void {name}(const gemmbench::Slot* slots, gemmbench::Outcome* outcome) {{
    gemmbench::Arguments<{kinds}>::call({function}, slots, outcome);
}}"""
_SIZES = "iii"
_PLACE = "call by gemmbench"
_UNKNOWN = re.compile(rf'^{_PLACE}\(\d+\): error: .*?"([^"]+)" (?:is undefined|has no member "([^"]+)")', re.MULTILINE)
_REFUSED = re.compile(rf'^{_HEADER.name}\(\d+\): error: static assertion failed with "([^"]+)"', re.MULTILINE)


def wrap_launcher(plan: Plan, text: str) -> str:
    """Return the complete text of a plan whose host function launches its kernels. `text` is its code."""
    call = plan.variant.call
    kinds = [argument.kind for argument in list_arguments(plan)]
    header = f'#line 1 "{_HEADER.name}"\n{_HEADER.read_text(encoding="utf-8")}'
    parts = [header, text, f'#line 1 "{_PLACE}"']
    parts.append(_write_call(RUN, call.host, kinds))
    if call.host_workspace:
        parts.append(_write_call(WORKSPACE, call.host_workspace, _SIZES))
    return "\n".join(parts) + "\n"


def explain_call_errors(plan: Plan, output: str) -> str:
    """Explain, based on nvcc's output, why the host function cannot be called; "" if that is not the problem."""
    path, host = plan.variant.path, plan.variant.call.host
    if unknown := _UNKNOWN.search(output):
        return f"{path}: the code has no host function '{unknown[2] or unknown[1]}'; correct the manifest, or define it"
    if refused := _REFUSED.search(output):
        return f"{path}: {refused[1]}: it passes {_list_arguments(plan)} to {host}; list the correct ones under `args`"
    return ""


def _list_arguments(plan: Plan) -> str:
    return ", ".join(str(each) for each in list_arguments(plan))


def _write_call(name: str, function: str, kinds: Sequence[str]) -> str:
    return _CALL.format(name=name, function=function, kinds=", ".join(f"'{kind}'" for kind in kinds))


_GLOBAL, _RELAXED = "GLOBAL", "RELAXED"
_NEXT_STEP = "a launch may only queue work on the stream passed to it"
_DEFAULT_STREAM = "cudaErrorStreamCaptureImplicit"
_ALLOCATIONS = ("MEM_ALLOC", "MEM_FREE")


def count_kernels(queue: Callable[[], object], stream: Any, host: str, take_last_error: Callable[[], str]) -> int:
    """Count the kernels, copies and fills that the host function `host` queues. `queue` calls it.

    The function must have been called before, so that its code is loaded. `take_last_error` returns the last error of
    its CUDA calls. Raises LaunchError if the function does something that is not allowed in a window.
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
        nothing = f"queued nothing on its stream: {host} launches nothing, or uses another stream; {_NEXT_STEP}"
        raise LaunchError(_explain_error(host, error) if error else nothing)
    return nodes.total()


def _explain_error(host: str, error: str) -> str:
    return f"a CUDA call in {host} fails, but {host} does not return the error: {error}"


def _explain_refusal(driver: Any, queue: Callable[[], object], stream: Any, host: str, symptom: str) -> str:
    """Explain why CUDA refuses to record the launch. In "relaxed" mode it may allocate but not wait."""
    if _DEFAULT_STREAM in symptom:
        return f"uses the default stream inside the launch: {host} launches or copies there"
    try:
        _record(driver, queue, stream, _RELAXED)
    except LaunchError:
        return f"synchronises inside the launch: {host} waits for the device"
    return f"allocates inside the launch: {host} allocates, frees or copies memory; use `workspace` for this"


def _record(driver: Any, queue: Callable[[], object], stream: Any, mode: str) -> Counter[str]:
    """Record the work that `queue` queues as a graph, and count its nodes by kind. Raises LaunchError."""
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
    """Make a driver call and return the values after its error code: none, one or several. Raises LaunchError."""
    code, *values = getattr(driver, call)(*arguments)
    if code != driver.CUresult.CUDA_SUCCESS:
        raise LaunchError(f"{call} failed: {code.name}")
    return values[0] if len(values) == 1 else values
