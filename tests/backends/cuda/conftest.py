"""Plans for an H200, and stand-ins for a stream, for pycuda and for the bindings of the driver."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gemmbench.backends.cuda.python_modules import forget_module
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.manifests.variant import Code, Variant
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Config, Plan, Target
from gemmbench.planning.problems import Problem

GPU = Target("cuda", sm=90, sms=132, smem=227 << 10, l2=50 << 20, memory=1 << 36)
HEAD = """/*---
summary: a launcher
order: 1
precisions: [f32]
layouts: [nn, nt]
host: {host}
{keys}---*/
"""


def _plan_variant(variant: Variant, problem: Problem, **values: int) -> Plan:
    config = Config(tuple({**variant.default(), **values}.items()))
    (planned,) = make_plans([problem], [(variant, [config])], "cuda", {"cuda": GPU}, lambda *_: "")
    assert isinstance(planned, Plan), planned.reason
    return planned


@pytest.fixture
def plan_variant() -> Callable[..., Plan]:
    """The plan of a variant in its default configuration, but for the values that are given."""
    return _plan_variant


@pytest.fixture
def plan_launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Plan]:
    """The plan of a launcher's text on a problem; `keys` are further lines of its manifest."""
    monkeypatch.chdir(tmp_path)  # messages and the keys of the cache have the path as it is seen from here

    def plan(text: str, keys: str = "", problem: Problem | None = None, host: str = "run") -> Plan:
        path = tmp_path / "mine.cu"
        path.write_text(HEAD.format(keys=keys, host=host) + text)
        return _plan_variant(read_variant(path), problem or Problem(3, 4, 5, alpha=1.5, beta=-0.5))

    return plan


@pytest.fixture
def make_function(make_variant, tmp_path):
    """A Python variant of a text, whose module is forgotten at the end."""
    made = []

    def make(text, path="cuda/mine.py", **changed):
        code = Code(str(tmp_path / "mine.py"))
        made.append(make_variant("mine", kind="python", text=text, path=path, code=code, **changed))
        return made[-1]

    yield make
    for variant in made:
        forget_module(variant)


class Log(list):
    """A stream, its clock and its gate in one: what was queued, in order."""

    expired, hertz = False, 1.5e9

    def stamp(self, which):
        self.append(f"stamp{which}")

    def mark(self):
        self.append("mark")
        return np.zeros((1, 3), np.uint64)

    def read(self):
        return self.hertz

    def close(self):
        self.append("close")

    def open(self):
        self.append("open")

    def synchronize(self):
        self.append("wait")


@pytest.fixture
def log():
    return Log()


class CudaError(Exception):
    """As pycuda's."""


@pytest.fixture
def stub_pycuda(monkeypatch):
    """Put a driver with these members in the place of pycuda's."""

    def stub(**members):
        driver = SimpleNamespace(**{"init": lambda: None, "Error": CudaError, **members})
        monkeypatch.setitem(sys.modules, "pycuda.driver", driver)
        return driver

    return stub


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901


OK = CUresult.CUDA_SUCCESS
TEXTS = {700: b"an illegal memory access was encountered", 500: b"named symbol not found"}


def is_early(queued):
    """Whether what was queued may begin before what was queued before it has ended."""
    return queued == "early" or (isinstance(queued, tuple) and any(each.id == 6 for each in queued[0].attrs))


class Bindings:
    """cuda.bindings.driver: what is launched is in `queued`, and a graph is what was queued since its beginning.

    Each node waits for the one before it, but what is early overlaps with it; `added` are further edges.

    All other calls are kept in `calls` and succeed, but for those in `faults`. In the modes `refused` a
    recording is invalid.
    """

    CU_LAUNCH_PARAM_END, CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE = range(3)
    CUlaunchConfig = SimpleNamespace
    CUlaunchAttributeID = SimpleNamespace(
        CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION=4, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION=6
    )
    CUstreamCaptureMode = SimpleNamespace(
        CU_STREAM_CAPTURE_MODE_GLOBAL="global", CU_STREAM_CAPTURE_MODE_RELAXED="relaxed"
    )
    CUresult = CUresult
    CUstream = staticmethod(lambda handle: handle)

    class CUfunction_attribute(int):
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_NUM_REGS = 1, 4

    def __init__(self):
        self.queued, self.calls, self.faults, self.refused = [], [], {}, ()
        self.mode, self.graphs, self.added = "", 0, []

    @staticmethod
    def CUlaunchAttribute():
        return SimpleNamespace(value=SimpleNamespace(clusterDim=SimpleNamespace()))

    def __getattr__(self, call):
        if not call.startswith("cu") or call.endswith("_v2"):
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

    def cuFuncGetParamInfo(self, function, place):
        return OK, 8 * place + 40, 8

    def cuGetErrorString(self, code):
        return OK, TEXTS[code]

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        assert parameters is None
        pointer, arguments, size, length, end = (ctypes.c_void_p * 5).from_address(extra)
        assert (pointer, size, end) == (1, 2, None)
        packed = ctypes.string_at(arguments, ctypes.c_size_t.from_address(length).value)
        self.queued.append((config, function, packed))
        return (self.faults.get("cuLaunchKernelEx", OK),)

    def cuStreamBeginCapture(self, stream, mode):
        assert not self.mode, "the stream is being recorded"
        self.mode = mode
        self.queued.clear()
        return self.answer("cuStreamBeginCapture", stream, mode)

    def cuStreamEndCapture(self, stream):
        mode, self.mode = self.mode, ""
        if mode in self.refused:
            return CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, None
        self.graphs += 1
        return OK, tuple(self.queued)

    def cuGraphGetNodes(self, graph, count=0):
        return OK, list(graph)[:count], len(graph)

    def cuStreamGetCaptureInfo(self, stream):
        return OK, "active", 1, range(len(self.queued))

    def cuGraphGetEdges(self, graph, count=0):
        edges = [(target - 1, target, is_early(graph[target])) for target in range(1, len(graph))]
        edges += [(*pair, False) for pair in self.added]
        sources, targets, early = zip(*edges[:count], strict=True) if count else ((), (), ())
        return OK, sources, targets, [SimpleNamespace(type=int(each), from_port=0) for each in early], len(edges)

    def cuGraphAddDependencies(self, graph, sources, targets, data, count):
        assert len(sources) == len(targets) == len(data) == count
        self.added += zip(sources, targets, strict=True)
        return (OK,)

    def CUgraphEdgeData(self):
        return SimpleNamespace(type=0)

    def cuGraphNodeGetType(self, node):
        return OK, SimpleNamespace(name=f"CU_GRAPH_NODE_TYPE_{node}")

    def cuGraphInstantiate(self, graph, flags):
        return OK, graph

    def cuGraphDestroy(self, graph):
        self.graphs -= 1
        return (OK,)

    def cuGraphLaunch(self, graph, stream):
        self.queued.append(f"graph of {len(graph)}")
        return (OK,)


@pytest.fixture
def bindings(monkeypatch):
    played = Bindings()
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", played)
    return played
