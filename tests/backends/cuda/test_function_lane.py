"""The first calls of Python functions: what they may not do, and what cannot be recorded, on a GPU of tests."""

import pytest

from gemmbench.backends.cuda import function_lane
from gemmbench.backends.cuda.function_lane import FunctionLane
from gemmbench.errors import LaunchError, NotOffered, OutOfMemory
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.problems import Problem

PROBLEM = Problem(8, 16, 4)
C, SIZE = 1024, PROBLEM.operand_bytes("C")
GOOD = "gpu.launch(stream, C.ptr, 512)"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(function_lane, "_LEAST_WAIT", 0.0)


@pytest.fixture
def bind(gpu, make_variant_of, monkeypatch):
    """Bind a function with this body; `nodes` is what recording a call shows, or an error."""

    def bound(body, nodes=2, known=False, gated=True, **how):
        def count(call, stream):
            call()
            if isinstance(nodes, Exception):
                raise nodes
            return nodes

        monkeypatch.setattr(function_lane, "count_nodes", count)
        variant = make_variant_of(body)
        there = FunctionLane(gpu.stream, None, gpu.gate if gated else None, 0, lambda: False)
        function = there.load(variant)
        calls = function.calls(Plan(PROBLEM, variant, Config(), "cuda", "90", None), [(0, 512, C)])
        wanted = {"graph": False, "turns": 0, "rotation": None} | how
        return function, there.bind(function, calls, (C, SIZE), known, **wanted)

    return bound


def test_a_function_that_launches_on_the_stream_is_timed_behind_a_gate(bind, gpu):
    function, timer = bind(GOOD)
    assert (function.findings.kernels, function.findings.no_graph, function.findings.waits) == (2, "", False)
    assert (timer.no_graph, timer._gate) == ("", gpu.gate)
    assert gpu.bytes[C] == 1, "what was in C before the test of the stream is there again"


def test_a_launch_on_another_stream_is_an_error_of_its_row(bind, gpu):
    with pytest.raises(LaunchError, match=r"launched on another stream: C changed while .* \(cuda/mine.py\)"):
        bind("gpu.launch(0, C.ptr, 512)")
    assert not gpu.held, "the gate is open again"


def test_without_a_gate_the_stream_is_not_tested(bind):
    function, timer = bind("gpu.launch(0, C.ptr, 512)", gated=False)
    assert not function.findings.waits and timer._gate is None


def test_a_function_that_waits_is_timed_without_a_gate_and_without_a_graph(bind):
    function, timer = bind(f"{GOOD}\ngpu.wait()")
    assert function.findings.waits and timer._gate is None
    assert timer.no_graph.startswith("waits for the GPU before it returns")


def test_a_function_that_leaks_is_an_error_of_its_row(bind):
    with pytest.raises(LaunchError, match="leaks memory of the GPU: its calls keep"):
        bind(f"{GOOD}\ngpu.free -= 1 << 20")


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


def test_a_function_that_raises_in_its_first_call_is_an_error_of_its_row(bind):
    with pytest.raises(LaunchError, match=r"the function raised: cuda/mine.py:3: ZeroDivisionError"):
        bind("1 / 0")


def test_memory_that_runs_out_is_said_so(bind):
    with pytest.raises(OutOfMemory, match=r"cuda/mine.py:3: RuntimeError: out of memory"):
        bind("raise RuntimeError('out of memory')")


def test_another_problem_gets_one_call_that_compiles(bind, gpu):
    function, timer = bind(GOOD)
    before, there = gpu.calls, FunctionLane(gpu.stream, None, gpu.gate, 0, lambda: False)
    there.bind(function, timer._calls, (C, SIZE), False, False, 0, None)
    assert gpu.calls == before + 1
    there.bind(function, timer._calls, (C, SIZE), True, False, 0, None)
    assert gpu.calls == before + 1
