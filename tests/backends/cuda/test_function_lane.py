"""The first calls of Python functions: what they may not do, and what cannot be recorded, on a GPU of tests."""

import math
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from textwrap import indent
from types import SimpleNamespace

import numpy as np
import pytest

from gemmbench.backends.cuda import function_lane, window
from gemmbench.backends.cuda.function_lane import FunctionLane
from gemmbench.errors import LaunchError, NotOffered, OutOfMemory
from gemmbench.planning.manifests.variant import PythonCall
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.problems import Problem

PROBLEM = Problem(8, 16, 4)
C, SIZE, STEP = 1024, PROBLEM.operand_bytes("C"), 2048
AT = {"A": 0, "B": 512, "C": C}
GOOD = "gpu.launch(stream, C.ptr, 512)"
HANDLE = 77


class PlayedGpu:
    """What the driver, the stream and the gate are asked; functions under test launch with `launch`."""

    def __init__(self):
        self.bytes = np.zeros(1 << 15, np.uint8)
        self.free, self.held, self.queued, self.calls = 1 << 30, False, [], 0
        self.handle = HANDLE
        self.stream = SimpleNamespace(handle=HANDLE, synchronize=self.run_queued)
        self.side = SimpleNamespace(synchronize=lambda: None)
        self.clock = SimpleNamespace(stamp=lambda which: None, read=lambda: 1e9)
        self.gate = SimpleNamespace(close=self.close, open=self.open, expired=False)

    def launch(self, stream, at, size, value=1):
        """Queue a kernel that fills C; on another stream than ours nothing holds it."""
        self.calls += 1
        self.queued.append((slice(at, at + size), value))
        if stream != self.handle or not self.held:
            self.run_queued()

    def add_up(self, ranges):
        """A checksum of each range."""
        return [hash(self.bytes[start:end].tobytes()) for start, end in ranges]

    def wait(self):
        """What a function does that waits for the stream: a gate expires meanwhile."""
        self.gate.expired |= self.held
        self.run_queued()

    def run_queued(self):
        for place, value in self.queued:
            self.bytes[place] = value
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
        Event=lambda: SimpleNamespace(record=lambda stream: None, time_since=lambda start: 1.0),
        memcpy_dtoh_async=lambda out, at, stream: np.copyto(out, made.bytes[at : at + len(out)]),
        memcpy_htod_async=lambda at, array, stream: made.bytes.__setitem__(slice(at, at + len(array)), array),
        memset_d8=lambda at, byte, size: made.bytes.__setitem__(slice(at, at + size), byte),
        mem_get_info=lambda: (made.free, 1 << 34),
    )
    monkeypatch.setitem(sys.modules, "gpu_of_tests", made)
    monkeypatch.setattr(function_lane, "_LEAST_WAIT", 0.0)
    return made


@pytest.fixture
def bind(gpu, make_function, monkeypatch):
    """Bind a function with this body; `nodes` is what recording a call shows, or an error."""

    found = []

    def count(call, stream):
        call()
        if isinstance(found[-1], Exception):
            raise found[-1]
        return found[-1]

    monkeypatch.setattr(function_lane, "count_nodes", count)

    def bound(body, nodes=2, gated=True, **how):
        found.append(nodes)
        head = "import gpu_of_tests as gpu\ndef gemm(problem, A, B, C, stream):\n"
        variant = make_function(head + indent(body, "    "))
        function, calls = load(make_lane(gpu, gated), variant)
        wanted = {"graph": False, "turns": 0, "rotation": None} | how
        return function, make_lane(gpu, gated).bind(function, calls, (C, SIZE), False, **wanted)

    return bound


def make_lane(gpu, gated=True):
    gate = gpu.gate if gated else None
    return FunctionLane(gpu.stream, gpu.clock, gate, gpu.side, 0, lambda: False, lambda: None, gpu.add_up)


def load(lane, variant, sets=1):
    """The function, with its calls on operand sets."""
    function = lane.load(variant)
    plan = Plan(PROBLEM, variant, Config(), "cuda", "90", None)
    return function, function.calls(
        plan, [{name: at + number * STEP for name, at in AT.items()} for number in range(sets)]
    )


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
    before, there = gpu.calls, make_lane(gpu)
    there.bind(function, timer._calls, (C, SIZE), False, False, 0, None)
    assert gpu.calls == before + 1
    there.bind(function, timer._calls, (C, SIZE), True, False, 0, None)
    assert gpu.calls == before + 1


class Tensor:
    """An array of tests, whose memory is free again when nothing refers to it."""

    def __init__(self, gpu, at, shape, dtype="float32", device="cuda:0", owned=False):
        self.gpu, self.at, self.shape, self.dtype, self.device = gpu, at, tuple(shape), f"torch.{dtype}", device
        self.owned, self.steps = owned, ()

    def data_ptr(self):
        return self.at

    def stride(self):
        return self.steps or tuple(math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))

    def copy_(self, other):
        size = 4 * math.prod(self.shape)
        self.gpu.bytes[self.at : self.at + size] = self.gpu.bytes[other.at : other.at + size]

    def __del__(self):
        if self.owned:
            self.gpu.heap.insert(0, self.at)


@pytest.fixture
def torch(gpu, monkeypatch):
    """A PyTorch of tests on that GPU. It hands out the memory that was freed last."""
    gpu.heap = list(range(1 << 14, 1 << 15, STEP))

    def empty(shape, dtype="float32", device="cuda:0"):
        size = (shape,) if isinstance(shape, int) else shape
        return Tensor(gpu, gpu.heap.pop(0), size, dtype, device, owned=True)

    class Torch:
        cuda = SimpleNamespace(
            ExternalStream=lambda stream, device: stream,
            default_stream=lambda device: 0,
            set_stream=lambda stream: setattr(Torch, "current", stream),
            empty_cache=lambda: None,
            MemPool=lambda: object(),
            use_mem_pool=lambda pool: nullcontext(),
        )

    Torch.empty, Torch.Tensor, Torch.uint8 = staticmethod(empty), Tensor, "uint8"
    Torch.from_dlpack = staticmethod(lambda array: Tensor(gpu, array.ptr, array.shape, array.dtype))
    Torch.set_grad_enabled = staticmethod(lambda on: None)
    monkeypatch.setitem(sys.modules, "torch", Torch)
    return Torch


PRODUCT = """
def product(a, b, c=None):
    c = c or torch.empty((8, 16))
    gpu.launch(torch.current, c.at, 512, 1 + gpu.bytes[a.at])
    return c
"""
RETURNS = PythonCall("product(A, B)", reads=("A", "B"), returns=True, library="torch")


@pytest.fixture
def bind_call(gpu, torch, make_function, monkeypatch):
    """Bind a function of a text with the call of a manifest to operand sets, of which A begins with 10, 20, ..."""
    monkeypatch.setattr(function_lane, "count_nodes", lambda call, stream: call() or 2)
    monkeypatch.setattr(function_lane, "find_overlap", lambda call, stream: "")

    def bound(text=PRODUCT, python=RETURNS, sets=2, **how):
        for number in range(sets):
            gpu.bytes[number * STEP] = 10 * (1 + number)
        variant = make_function(f"import gpu_of_tests as gpu\nimport torch\n{text}", python=python)
        lane = make_lane(gpu)
        function, calls = load(lane, variant, sets)
        wanted = {"graph": False, "turns": 0, "rotation": None} | how
        return function, lane.bind(function, calls, (C, SIZE), False, **wanted)

    return bound


def read_c(gpu, number):
    """The bytes of the C of a set, without repetitions."""
    return set(gpu.bytes[C + number * STEP : C + number * STEP + SIZE].tolist())


def test_returned_results_are_copied_to_c_after_the_window(bind_call, gpu):
    function, timer = bind_call()
    assert (function.findings.no_graph, function.findings.waits) == ("", False)
    gpu.bytes[C : C + SIZE] = gpu.bytes[C + STEP : C + STEP + SIZE] = 0
    timer.time(2)
    assert [read_c(gpu, number) for number in range(2)] == [{11}, {21}]
    gpu.bytes[0] = 30
    timer.time(3)
    assert [read_c(gpu, number) for number in range(2)] == [{31}, {21}]


def test_memory_of_the_next_results_holds_nan_before_a_window(bind_call, gpu):
    text = PRODUCT.replace("512, 1", "512 if gpu.bytes[a.at] == 10 else 256, 1")
    _, timer = bind_call(text)
    timer.time(2)
    gpu.bytes[0] = 30
    timer.time(1)
    assert read_c(gpu, 0) == {31, 255}


def test_memory_that_held_the_same_result_before_holds_nan_too(bind_call, gpu):
    gpu.size = 512
    text = """
def product(a, b):
    other, c = torch.empty((8, 16)), torch.empty((8, 16))
    gpu.launch(torch.current, other.at, 512, 1 + gpu.bytes[a.at])
    gpu.launch(torch.current, c.at, gpu.size, 1 + gpu.bytes[a.at])
    return c
"""
    _, timer = bind_call(text, sets=1)
    gpu.size = 256
    timer.time(1)
    assert read_c(gpu, 0) == {11, 255}


def test_each_stop_of_a_graph_has_its_result_in_memory_of_the_graph(bind_call, gpu, monkeypatch):
    def record(calls, stream, turns):
        for queue in calls.queue * turns:
            queue()
        replays = [partial(gpu.launch, HANDLE, tensor.at, 512, 40 + number) for number, tensor in list_held(calls)]
        graphs = SimpleNamespace(prepare=lambda launches: None, launch=lambda: [replay() for replay in replays])
        return replace(calls, turns=turns, graphs=graphs)

    monkeypatch.setattr(function_lane, "record_turns", record)
    _, timer = bind_call(turns=2)
    timer.time(4)
    assert [read_c(gpu, number) for number in range(2)] == [{40}, {41}]
    timer.time_exactly(2)
    assert [read_c(gpu, number) for number in range(2)] == [{11}, {21}], "launches that are no graph return as usual"


def list_held(calls):
    return calls.function.returned._held.items()


def test_a_function_of_the_default_stream_is_behind_the_gate_and_no_graph(bind_call, gpu):
    gpu.handle = 0  # the stream of the lane holds the default stream
    function, timer = bind_call(python=replace(RETURNS, default_stream=True))
    assert function.stream == 0 and timer._gate is gpu.gate
    assert timer.no_graph == "launches on the default stream, which cannot be recorded as a CUDA graph"
    assert timer.overlap == "unknown"
    with pytest.raises(NotOffered, match="launches on the default stream"):
        bind_call(python=replace(RETURNS, default_stream=True), turns=2)


def test_a_call_may_pass_keywords_sizes_parameters_and_objects_that_are_made_once(bind_call, gpu):
    text = (
        """
made = []
class Model:
    def __init__(self, size):
        made.append(size)
    def __call__(self, a, b, *, out, alpha):
        product(a, b, out)
"""
        + PRODUCT
    )
    python = PythonCall("Model(M * 2)(A, B, out=C, alpha=alpha)", reads=("A", "B", "C", "M", "alpha"), library="torch")
    function, timer = bind_call(text, python)
    timer.time(2)
    assert [read_c(gpu, number) for number in range(2)] == [{11}, {21}]
    assert function.module.made == [16]


def test_views_have_the_order_of_dimensions_that_the_manifest_lists(bind_call):
    text = "def product(a, b, c): gpu.seen = a, b, c\n"
    views = (("A", ("M", "K", "L")), ("B", ("N", "K")))
    python = PythonCall("product(A, B, C)", reads=("A", "B", "C"), views=views)
    bind_call(text, python, sets=1)
    a, b, c = sys.modules["gpu_of_tests"].seen
    assert (a.shape, a.strides) == ((8, 4, 1), (4, 1, 32))
    assert (b.shape, b.strides) == ((16, 4), (1, 16))
    assert (c.shape, c.strides) == ((8, 16), ())


SETUP = """
calls = []
def pack(b):
    calls.append(b.at)
    return [gpu.bytes[b.at]]
def product(a, packed):
    c = torch.empty((8, 16))
    gpu.launch(torch.current, c.at, 512, gpu.bytes[a.at] + packed[0])
    return c
"""
PACKED = replace(RETURNS, call="product(A, prepared)", setup="pack(B)")


def test_setup_runs_once_for_each_content_of_b_and_its_time_is_kept(bind_call, gpu):
    gpu.bytes[512], gpu.bytes[512 + STEP] = 3, 4
    function, timer = bind_call(SETUP, PACKED)
    calls = function.module.calls
    timer.time(2)
    assert [read_c(gpu, number) for number in range(2)] == [{13}, {24}] and calls == [512, 512 + STEP]
    gpu.bytes[0], gpu.bytes[512] = 20, 5
    timer.time_exactly(1)
    assert read_c(gpu, 0) == {25} and calls == [512, 512 + STEP, 512], "B of set 0 has changed"
    assert timer.setup_seconds > 0
    assert timer.no_graph.startswith("prepares B before launches")


def test_setup_cannot_compute_the_product_because_a_holds_something_else_then(bind_call, gpu):
    text = """
def pack(b):
    c = torch.empty((8, 16))
    gpu.launch(torch.current, c.at, 512, 1 + gpu.bytes[b.at - 512])
    return c
def product(a, packed):
    c = torch.empty((8, 16))
    gpu.launch(torch.current, c.at, 512, gpu.bytes[packed.at])
    return c
"""
    _, timer = bind_call(text, PACKED)
    timer.time(1)
    assert read_c(gpu, 0) == {0x5B} and gpu.bytes[0] == 10


CACHED = PRODUCT.replace(
    "c = c or torch.empty((8, 16))", "if kept: return kept[0]\n    c = torch.empty((8, 16))\n    kept.append(c)"
)
PATCHED = """
from gemmbench.backends.cuda import window
import numpy, time
"""
HOSTILE = {
    "a patched timer": (
        PATCHED + PRODUCT.replace("return c", "window.median_frequency = lambda *_: 0; return c"),
        "replaces gemmbench.backends.cuda.window.median_frequency of gemmbench, which its rows share",
    ),
    "a patched clock": (
        PATCHED + PRODUCT.replace("return c", "time.perf_counter = lambda: 0; return c"),
        "mine.py replaces time.perf_counter of code that measures and compares; do not change it",
    ),
    "a patched comparison": (
        PATCHED + PRODUCT.replace("return c", "numpy.array_equal = lambda *_: True; return c"),
        "replaces numpy.array_equal of code that",
    ),
    "a patched copy": (
        PRODUCT.replace("return c", "torch.Tensor.copy_ = lambda *_: None; return c"),
        "replaces Tensor.copy_ of code that",
    ),
    "the result of the first call": ("kept = []\n" + CACHED, "computed nothing: it returned an earlier result"),
    "the result for these addresses": (
        "kept = {}\n"
        + PRODUCT.replace("c = c or", "if a.at in kept: return kept[a.at]\n    kept[a.at] = c ="),
        "computed nothing: it returned an earlier result",
    ),
    "one buffer for all": (
        "kept = torch.empty((8, 16))\n" + PRODUCT.replace("c = c or torch.empty((8, 16))", "c = kept"),
        "returned the same memory for several launches",
    ),
    "another stream": (PRODUCT.replace("torch.current", "5"), "launched on another stream: its result was there while"),
    "nothing": ("def product(a, b): pass\n", "returned nothing; return a torch.Tensor"),
    "a list": ("def product(a, b): return [a]\n", "returned list; return a torch.Tensor"),
    "its input": ("def product(a, b): return torch.from_dlpack(gpu.a)\n", "returned the memory of its argument A"),
    "another shape": (PRODUCT.replace("(8, 16)", "(16, 8)"), "returned an array of 16x8; C is 8x16"),
    "another type": (PRODUCT.replace("(8, 16))", "(8, 16), 'float16')"), "returned an array of float16; C is float32"),
    "the host": (PRODUCT.replace("(8, 16))", "(8, 16), device='cpu')"), "returned an array on cpu; return it on the"),
    "one row for all": (
        PRODUCT.replace("return c", "c.steps = (0, 1); return c"),
        "returned an array whose elements share memory",
    ),
    "a lazy result": (
        "class Lazy(torch.Tensor):\n    pass\n" + PRODUCT.replace("return c", "c.__class__ = Lazy; return c"),
        "Lazy; return a torch.Tensor",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_result_that_was_not_computed_or_cannot_be_used_fails(bind_call, gpu, name):
    text, words = HOSTILE[name]
    before = time.perf_counter, np.array_equal, Tensor.copy_, window.median_frequency
    gpu.a = SimpleNamespace(ptr=0, shape=(8, 16), dtype="float32")
    with pytest.raises(LaunchError, match=words):
        _, timer = bind_call(text)
        timer.time(2)
    assert not gpu.held, "the gate is open again"
    assert (time.perf_counter, np.array_equal, Tensor.copy_, window.median_frequency) == before


@pytest.mark.parametrize(
    "changed",
    [{"call": "product(A, prepared.missing)"}, {"setup": "pack(B.missing)"}, {"call": "missing.f(A, prepared)"}],
)
def test_arguments_that_cannot_be_evaluated_fail_in_their_row(bind_call, changed):
    with pytest.raises(LaunchError, match=r"the function raised: cuda/mine.py: (AttributeError|NameError)"):
        bind_call(SETUP, replace(PACKED, **changed))


def test_setup_that_raises_names_its_line_and_a_is_as_it_was(bind_call, gpu):
    with pytest.raises(LaunchError, match=r"the function raised: cuda/mine.py:4: ZeroDivisionError"):
        bind_call("def pack(b):\n    1 / 0\ndef product(a, packed): pass\n", PACKED)
    assert gpu.bytes[0] == 10
