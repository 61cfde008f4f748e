"""The first calls of Python functions: what they may not do, and what cannot be recorded, on a GPU of tests."""

import sys
from textwrap import indent
from types import SimpleNamespace

import numpy as np
import pytest

from gemmbench.backends.cuda import function_lane
from gemmbench.backends.cuda.function_lane import FunctionLane
from gemmbench.errors import LaunchError, NotOffered, OutOfMemory
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.problems import Problem

PROBLEM = Problem(8, 16, 4)
C, SIZE = 1024, PROBLEM.operand_bytes("C")
GOOD = "gpu.launch(stream, C.ptr, 512)"
HANDLE = 77


class PlayedGpu:
    """What the driver, the stream and the gate are asked; functions under test launch with `launch`."""

    def __init__(self):
        self.bytes = np.zeros(4096, np.uint8)
        self.free, self.held, self.queued, self.calls = 1 << 30, False, [], 0
        self.stream = SimpleNamespace(handle=HANDLE, synchronize=self.run_queued)
        self.gate = SimpleNamespace(close=self.close, open=self.open, expired=False)

    def launch(self, stream, at, size):
        """Queue a kernel that fills C; on another stream than ours nothing holds it."""
        self.calls += 1
        self.queued.append(slice(at, at + size))
        if stream != HANDLE or not self.held:
            self.run_queued()

    def wait(self):
        """What a function does that waits for the stream: a gate expires meanwhile."""
        self.gate.expired |= self.held
        self.run_queued()

    def run_queued(self):
        for place in self.queued:
            self.bytes[place] = 1
        self.queued.clear()

    def close(self):
        self.held, self.gate.expired = True, False

    def open(self):
        self.held = False
        self.run_queued()


@pytest.fixture
def gpu(stub_pycuda, monkeypatch):
    made = PlayedGpu()
    stub_pycuda(
        Error=RuntimeError,
        Context=SimpleNamespace(synchronize=made.run_queued),
        Event=lambda: None,
        from_device=lambda at, size, kind: made.bytes[at : at + size].copy(),
        memcpy_htod=lambda at, array: made.bytes.__setitem__(slice(at, at + len(array)), array),
        mem_get_info=lambda: (made.free, 1 << 34),
    )
    monkeypatch.setitem(sys.modules, "gpu_of_tests", made)
    monkeypatch.setattr(function_lane, "_LEAST_WAIT", 0.0)
    return made


@pytest.fixture
def bind(gpu, make_function, monkeypatch):
    """Bind a function with this body; `nodes` is what recording a call shows, or an error."""

    def bound(body, nodes=2, gated=True, **how):
        def count(call, stream):
            call()
            if isinstance(nodes, Exception):
                raise nodes
            return nodes

        monkeypatch.setattr(function_lane, "count_nodes", count)
        head = "import gpu_of_tests as gpu\ndef gemm(problem, A, B, C, stream):\n"
        variant = make_function(head + indent(body, "    "))
        there = FunctionLane(gpu.stream, None, gpu.gate if gated else None, 0, lambda: False, lambda: None)
        function = there.load(variant)
        calls = function.calls(Plan(PROBLEM, variant, Config(), "cuda", "90", None), [{"A": 0, "B": 512, "C": C}])
        wanted = {"graph": False, "turns": 0, "rotation": None} | how
        return function, there.bind(function, calls, (C, SIZE), False, **wanted)

    return bound


def test_a_function_that_launches_on_the_stream_is_timed_behind_a_gate(bind, gpu):
    function, timer = bind(GOOD)
    assert (function.findings.kernels, function.findings.no_graph, function.findings.waits) == (2, "", False)
    assert (timer.no_graph, timer._gate) == ("", gpu.gate)
    assert gpu.bytes[C] == 1, "what was in C before the test of the stream is there again"


def test_without_a_gate_the_stream_is_not_tested(bind):
    function, timer = bind("gpu.launch(0, C.ptr, 512)", gated=False)
    assert not function.findings.waits and timer._gate is None


def test_a_function_that_waits_is_timed_without_a_gate_and_without_a_graph(bind):
    function, timer = bind(f"{GOOD}\ngpu.wait()")
    assert function.findings.waits and timer._gate is None
    assert timer.no_graph.startswith("waits for the GPU before it returns")


def test_memory_that_the_first_call_takes_is_no_leak(bind):
    bind(f"{GOOD}\nif gpu.calls == 1:\n    gpu.free -= 1 << 20")


@pytest.mark.parametrize("graph", [{"graph": True}, {"turns": 4}])
def test_what_cannot_be_recorded_is_offered_without_a_graph_only(bind, graph):
    refusal = LaunchError("operation not permitted")
    _, timer = bind(GOOD, refusal)
    assert timer.no_graph == "cannot be recorded as a CUDA graph: operation not permitted"
    with pytest.raises(NotOffered, match="cannot be recorded as a CUDA graph"):
        bind(GOOD, refusal, **graph)


def test_a_graph_of_a_function_is_recorded_in_private_memory(bind, monkeypatch):
    monkeypatch.setattr(function_lane, "record_turns", lambda calls, stream, turns: calls)
    _, timer = bind(GOOD, turns=4)
    assert timer._calls.keep[1] == []  # the pools of PyTorch and CuPy, neither of which is imported


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("gpu.launch(0, C.ptr, 512)", LaunchError, r"launched on another stream: C changed while .* \(cuda/mine.py\)"),
        (f"{GOOD}\ngpu.free -= 1 << 20", LaunchError, "leaks memory of the GPU: its calls hold"),
        ("1 / 0", LaunchError, "the function raised: cuda/mine.py:3: ZeroDivisionError"),
        ("raise RuntimeError('out of memory')", OutOfMemory, "cuda/mine.py:3: RuntimeError: out of memory"),
    ],
)
def test_a_fault_in_the_first_calls_is_an_error_of_its_row(bind, gpu, body, kind, words):
    with pytest.raises(kind, match=words):
        bind(body)
    assert not gpu.held, "the gate is open again"


def test_another_problem_gets_one_call_that_compiles(bind, gpu):
    function, timer = bind(GOOD)
    before, there = gpu.calls, FunctionLane(gpu.stream, None, gpu.gate, 0, lambda: False, lambda: None)
    there.bind(function, timer._calls, (C, SIZE), False, False, 0, None)
    assert gpu.calls == before + 1
    there.bind(function, timer._calls, (C, SIZE), True, False, 0, None)
    assert gpu.calls == before + 1
