"""Launches with attributes, on cuda.bindings that only write down what they are given."""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from gemmbench.backends.cuda.driver import translate_errors
from gemmbench.backends.cuda.graphs import record_turns
from gemmbench.backends.cuda.launch import Kernel
from gemmbench.errors import DeviceLost, LaunchError, NotOffered
from gemmbench.planning.plans.plan import Config, Geometry, Plan
from gemmbench.planning.problems import Problem

OK = 0
SMEM = 128 << 10
SETS = [(0x10000, 0x20000, 0x30000), (0x40000, 0x50000, 0x60000)]
STREAM = SimpleNamespace(handle=7, synchronize=lambda: None)
FIRST, SECOND = Geometry((8, 1, 1), (64, 1, 1), 0), Geometry((3, 4, 1), (128, 1, 1), 100 << 10, pdl=True)
TEXTS = {700: b"an illegal memory access was encountered", 500: b"named symbol not found"}


class Bindings:
    """cuda.bindings.driver as far as launches use it; every call but those in `faults` succeeds."""

    CU_LAUNCH_PARAM_END, CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE = range(3)
    CUlaunchConfig = SimpleNamespace
    CUlaunchAttributeID = SimpleNamespace(
        CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION=4, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION=6
    )
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED=2)
    CUresult = SimpleNamespace(CUDA_SUCCESS=OK)
    CUstream = staticmethod(lambda handle: handle)

    class CUfunction_attribute(int):
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_NUM_REGS = 1, 4

    def __init__(self):
        self.launches, self.calls, self.faults = [], [], {}

    @staticmethod
    def CUlaunchAttribute():
        return SimpleNamespace(value=SimpleNamespace(clusterDim=SimpleNamespace()))

    def __getattr__(self, call):
        """Calls that only succeed."""
        if not call.startswith("cu"):
            raise AttributeError(call)
        return lambda *arguments: self.answer(call, *arguments)

    def answer(self, call, *arguments, values=()):
        self.calls.append((call, *arguments))
        return (self.faults.get(call, OK), *values)

    def cuModuleLoad(self, path):
        return self.answer("cuModuleLoad", path, values=[11])

    def cuModuleGetFunction(self, module, symbol):
        return self.answer("cuModuleGetFunction", module, symbol, values=[symbol])

    def cuFuncGetAttribute(self, attribute, function):
        return OK, {1: 1024, 4: 40}[attribute]

    def cuGetErrorString(self, code):
        return OK, TEXTS[code]

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        assert parameters is None
        pointer, arguments, size, length, end = (ctypes.c_void_p * 5).from_address(extra)
        assert (pointer, size, end) == (1, 2, None)
        packed = ctypes.string_at(arguments, ctypes.c_size_t.from_address(length).value)
        self.launches.append((config, function, packed))
        return (self.faults.get("cuLaunchKernelEx", OK),)

    def cuStreamEndCapture(self, stream):
        return OK, tuple(self.launches)

    def cuGraphInstantiate(self, graph, flags):
        return OK, graph


@pytest.fixture(autouse=True)
def bindings(monkeypatch):
    """cuda.bindings, next to a pycuda that knows the numbers of attributes."""
    pycuda = SimpleNamespace(
        init=lambda: None, Error=OSError, function_attribute=SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
    )
    monkeypatch.setitem(sys.modules, "pycuda.driver", pycuda)
    monkeypatch.setitem(sys.modules, "pycuda", SimpleNamespace(driver=pycuda))
    found = Bindings()
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", found)
    return found


@pytest.fixture
def plan(make_variant) -> Plan:
    """Two launches, of which the second may overlap with the first."""
    launches = ("turn", FIRST), ("gemm", SECOND)
    return Plan(Problem(32, 24, 16), make_variant(), Config(), "cuda", "90", SECOND, launches=launches)


def load(plan: Plan) -> Kernel:
    return Kernel("code.cubin", "90", plan.launches, SMEM, STREAM)


def test_only_the_launch_that_may_overlap_has_the_attribute(bindings, plan):
    calls = load(plan).calls(plan, SETS)
    calls.queue[1]()
    (first, turn, _), (second, gemm, arguments) = bindings.launches
    assert (turn, gemm, calls.kernels) == (b"turn", b"gemm", 2)
    assert vars(first) == {
        "gridDimX": 8,
        "gridDimY": 1,
        "gridDimZ": 1,
        "blockDimX": 64,
        "blockDimY": 1,
        "blockDimZ": 1,
        "sharedMemBytes": 0,
        "hStream": 7,
        "attrs": [],
        "numAttrs": 0,
    }
    assert (second.gridDimX, second.gridDimY, second.blockDimX, second.sharedMemBytes) == (3, 4, 128, 100 << 10)
    ((attribute,), count) = second.attrs, second.numAttrs
    assert (attribute.id, attribute.value.programmaticStreamSerializationAllowed, count) == (6, 1, 1)
    assert arguments == struct.pack("@iiifPPfP", 32, 24, 16, 1.0, 0x40000, 0x50000, 0.0, 0x60000)


def test_clusters_are_an_attribute_of_their_launch(bindings, plan):
    clustered = Geometry((8, 1, 1), (64, 1, 1), 0, cluster=4)
    calls = load(replace(plan, launches=(("gemm", clustered),))).calls(plan, SETS)
    calls.queue[0]()
    ((config, *_),) = bindings.launches
    (attribute,) = config.attrs
    assert (attribute.id, vars(attribute.value.clusterDim), config.numAttrs) == (4, {"x": 4, "y": 1, "z": 1}, 1)
    assert calls.launch.startswith("gemm: grid 8x1x1 in clusters of 4, block 64x1x1,")


def test_a_launch_is_converted_once(bindings, plan):
    (queue, _) = load(plan).calls(plan, SETS).queue
    queue()
    queue()
    before, after = bindings.launches[:2], bindings.launches[2:]
    assert [config for config, *_ in before] == [config for config, *_ in after]
    assert all(one is other for (one, *_), (other, *_) in zip(before, after, strict=True))


def test_a_kernel_may_have_as_much_shared_memory_as_it_asks_for(bindings, plan):
    load(plan)
    assert [call for call in bindings.calls if call[0] == "cuFuncSetAttribute"] == [
        ("cuFuncSetAttribute", b"gemm", 8, 100 << 10)
    ]


def test_the_code_stays_loaded_as_long_as_it_can_be_launched(bindings, plan):
    calls = load(plan).calls(plan, SETS)
    gc.collect()
    assert ("cuModuleUnload", 11) not in bindings.calls
    del calls
    gc.collect()
    assert bindings.calls.count(("cuModuleUnload", 11)) == 1


def test_without_overlap_pycuda_loads_and_launches(bindings, plan, monkeypatch):
    launched = []
    function = SimpleNamespace(
        shared_size_bytes=0,
        num_regs=1,
        set_attribute=lambda *_: None,
        _launch_kernel=lambda *launch: launched.append(launch),
    )
    module = SimpleNamespace(get_function=lambda symbol: function)
    monkeypatch.setattr("gemmbench.backends.cuda.launch.load_cubin", lambda path, arch: module)
    usual = plan.without_pdl()
    load(usual).calls(usual, SETS).queue[0]()
    assert (len(launched), bindings.calls, bindings.launches) == (2, [], [])


def test_launches_that_overlap_are_recorded_in_a_graph(bindings, plan):
    recorded = record_turns(load(plan).calls(plan, SETS), STREAM, 3)
    assert ("cuStreamBeginCapture", 7, 2) in bindings.calls
    assert len(bindings.launches) == 2 * (1 + 3 * 2)  # one on the first set to load the code, then the recording
    recorded.graphs.launch()
    assert bindings.calls[-1][0] == "cuGraphLaunch"


def test_a_crash_loses_the_device_as_one_that_pycuda_reports(bindings, plan):
    kernel = load(plan)
    bindings.faults["cuLaunchKernelEx"] = 700
    calls = kernel.calls(plan, SETS)
    lost = pytest.raises(DeviceLost, match=r"CUDA_ERROR_ILLEGAL_ADDRESS: .*cuLaunchKernelEx failed")
    with lost, translate_errors(kernel.errors, calls.launch):
        calls.queue[0]()


def test_code_that_cannot_be_loaded_says_why(bindings, plan):
    bindings.faults["cuModuleGetFunction"] = 500
    failed = pytest.raises(LaunchError, match="cuModuleGetFunction failed: named symbol not found")
    with failed, translate_errors(Kernel.errors):
        load(plan)


def test_without_cuda_bindings_the_fix_is_named(plan, monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    fix = r"launches that overlap or have clusters need cuda-bindings: pip install 'gemmbench\[cuda\]'"
    with pytest.raises(NotOffered, match=fix):
        load(plan)
