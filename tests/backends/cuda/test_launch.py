"""What is launched with which arguments, on a driver that only writes down what it is given."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from gemmbench.backends.cuda.launch import Kernel
from gemmbench.errors import LaunchError, NotOffered
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Config, Plan, Target
from gemmbench.planning.problems import Problem

KERNELS = Path(__file__).parents[2] / "kernels"
GPU = Target("cuda", sm=90, sms=132, smem=227 << 10, l2=50 << 20, memory=1 << 36)
SMEM = 64 << 10
USUAL = "iiifPPfP"
SETS = [(0x10000, 0x20000, 0x30000), (0x40000, 0x50000, 0x60000)]


class CudaError(Exception):
    """As pycuda's."""


class Function:
    """A kernel that writes down its launches."""

    shared_size_bytes, num_regs = 1024, 40

    def __init__(self, symbol: str, log: list):
        self.symbol, self.log = symbol, log

    def _launch_kernel(self, grid, block, arguments, shared, stream):
        self.log.append((self.symbol, grid, block, arguments, shared, stream))


@pytest.fixture
def log():
    return []


@pytest.fixture(autouse=True)
def cuda(log, monkeypatch):
    """pycuda.driver as far as kernels use it; allocations lie one MiB apart, from 1 MiB on, and hold their bytes."""
    fake = ModuleType("pycuda.driver")
    memory: dict[int, np.ndarray] = {}

    def mem_alloc(nbytes):
        if nbytes > 1 << 20:
            raise fake.MemoryError("cuMemAlloc failed: out of memory")
        address = (len(memory) + 1) << 20
        memory[address] = np.full(nbytes, 0xA5, np.uint8)
        return address

    def memset(address, byte, nbytes):
        memory[address][:nbytes] = byte

    def copy(address, array):
        memory[address][: array.nbytes] = array.reshape(-1).view(np.uint8)

    fake.Error, fake.MemoryError, fake.bytes = CudaError, type("MemoryError", (CudaError,), {}), memory
    fake.mem_alloc, fake.memset_d8, fake.memcpy_htod = mem_alloc, memset, copy
    fake.mem_get_info = lambda: (1 << 20, 1 << 21)
    module = SimpleNamespace(get_function=lambda symbol: Function(symbol, log))
    monkeypatch.setattr("gemmbench.backends.cuda.launch.load_cubin", lambda path, arch: module)
    fake.init = lambda: None
    monkeypatch.setitem(sys.modules, "pycuda", ModuleType("pycuda"))
    monkeypatch.setitem(sys.modules, "pycuda.driver", fake)
    return fake


class Constants:
    """An enumeration whose every name is a constant."""

    def __getattr__(self, name):
        return name


@pytest.fixture
def encoder(monkeypatch):
    """cuda.bindings.driver as far as tensor maps use it: a map's first words are its number, address and shape."""
    driver, asked = ModuleType("cuda.bindings.driver"), []
    for name in ("DataType", "Interleave", "Swizzle", "L2promotion", "FloatOOBfill"):
        setattr(driver, f"CUtensorMap{name}", Constants())
    driver.CUresult = SimpleNamespace(CUDA_SUCCESS=SimpleNamespace(name="CUDA_SUCCESS"))
    driver.cuuint64_t = driver.cuuint32_t = int
    driver.asked, driver.code = asked, driver.CUresult.CUDA_SUCCESS

    def encode(*arguments):
        asked.append(arguments)
        words = [len(asked), arguments[2], *arguments[3]]
        return driver.code, SimpleNamespace(opaque=[*words, *[0] * (16 - len(words))])

    driver.cuTensorMapEncodeTiled = encode
    for name, module in (("cuda", ModuleType("cuda")), ("cuda.bindings", ModuleType("cuda.bindings"))):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)
    return driver


def planned(name: str, problem: Problem, **values: int) -> Plan:
    variant = Catalog([KERNELS]).get(name)
    config = Config(tuple({**variant.default(), **values}.items()))
    (found,) = make_plans([problem], [(variant, [config])], "cuda", {"cuda": GPU}, lambda *_: "")
    assert isinstance(found, Plan), found.reason
    return found


def kernel(plan: Plan, smem: int = SMEM) -> Kernel:
    return Kernel("code.cubin", "90", plan.launches, smem, "stream")


def test_one_launch_of_a_plan_queues_its_kernels_in_order_with_the_same_arguments(log, cuda):
    plan = planned("split_k", Problem(33, 18, 50, alpha=2.0, beta=0.5))
    calls = kernel(plan).calls(plan, SETS, workspace=1 << 20)
    assert (calls.kernels, len(calls.queue)) == (2, 2)
    calls.queue[1]()
    assert [(symbol, grid, block) for symbol, grid, block, *_ in log] == [
        ("parts", (2, 3, 3), (16, 16, 1)),
        ("total", (10, 1, 1), (64, 1, 1)),
    ]
    expected = struct.pack(f"@{USUAL}P", 33, 18, 50, 2.0, 0x40000, 0x50000, 0.5, 0x60000, 1 << 20)
    assert [arguments for _, _, _, arguments, _, _ in log] == [expected, expected]
    assert {stream for *_, stream in log} == {"stream"}
    assert calls.launch.startswith("parts: grid 2x3x3") and ", then total: grid 10x1x1" in calls.launch


def test_a_plan_that_uses_no_workspace_has_a_null_pointer_and_allocates_nothing(log, cuda):
    plan = planned("split_k", Problem(33, 18, 50, alpha=2.0, beta=0.5), SPLITS=1)
    calls = kernel(plan).calls(plan, SETS)
    calls.queue[0]()
    ((symbol, _, _, arguments, *_),) = log
    assert (symbol, calls.kernels, cuda.bytes) == ("parts", 1, {})
    assert arguments == struct.pack(f"@{USUAL}P", 33, 18, 50, 2.0, 0x10000, 0x20000, 0.5, 0x30000, 0)


def test_every_set_has_its_own_maps(log, cuda, encoder):
    plan = planned("tma", Problem(40, 36, 68))
    calls = kernel(plan).calls(plan, SETS)
    for queue in calls.queue:
        queue()
    words = cuda.bytes[1 << 20].view(np.uint64).reshape(2, 3, 16)
    assert words[:, 0, :4].tolist() == [[1, 0x10000, 68, 40], [3, 0x40000, 68, 40]]
    assert not words[:, 1].any()  # the map of the workspace, which this layout does not use
    assert words[:, 2, :4].tolist() == [[2, 0x20000, 36, 68], [4, 0x50000, 36, 68]]
    ends = [struct.unpack(f"@{USUAL}PP", arguments)[-2:] for _, _, _, arguments, _, _ in log]
    assert ends == [(0, 1 << 20), (0, (1 << 20) + 3 * 128)]


def test_a_map_is_encoded_as_it_is_declared(encoder):
    plan = planned("tma", Problem(40, 36, 66, "tn"))
    kernel(plan).calls(plan, SETS[:1], workspace=1 << 20)
    workspace, b = encoder.asked
    assert workspace[:3] == ("CU_TENSOR_MAP_DATA_TYPE_FLOAT32", 2, 1 << 20)
    assert workspace[3:7] == ([66, 40], [4 * 68], [32, 32], [1, 1])
    assert [names.removeprefix("CU_TENSOR_MAP_") for names in workspace[7:]] == [
        "INTERLEAVE_NONE",
        "SWIZZLE_128B",
        "L2_PROMOTION_L2_256B",
        "FLOAT_OOB_FILL_NONE",
    ]
    assert (b[2], b[8]) == (0x20000, "CU_TENSOR_MAP_SWIZZLE_NONE")


def test_an_operand_that_is_not_aligned_here_is_not_offered(encoder):
    plan = planned("tma", Problem(40, 36, 68))
    with pytest.raises(NotOffered, match="tensor map of A: its address is not a multiple of 16 here"):
        kernel(plan).calls(plan, [(0x10004, 0x20000, 0x30000)])


def test_a_map_that_the_driver_refuses_is_not_offered(encoder):
    plan = planned("tma", Problem(40, 36, 68))
    encoder.code = SimpleNamespace(name="CUDA_ERROR_INVALID_VALUE")
    with pytest.raises(NotOffered, match=r"tensor map of A: the driver rejects .*CUDA_ERROR_INVALID_VALUE"):
        kernel(plan).calls(plan, SETS)


def test_without_cuda_bindings_the_fix_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    plan = planned("tma", Problem(40, 36, 68))
    with pytest.raises(NotOffered, match=r"pip install 'gemmbench\[cuda\]'"):
        kernel(plan).calls(plan, SETS)


def test_a_launch_that_asks_for_too_much_shared_memory_is_told():
    with pytest.raises(LaunchError, match=r"a block needs 1,024 bytes of shared memory, but this GPU has 1,000"):
        kernel(planned("split_k", Problem(33, 18, 50)), smem=1000)


@pytest.mark.parametrize("layout", ["nn", "tn"])
def test_the_kernels_of_these_tests_compile_for_hopper(compiler, layout):
    plan = planned("tma", Problem(40, 36, 68, layout))
    for one in plan.split_launches():
        assert compiler.compile(one).build.registers > 0
    assert "cp.async.bulk.tensor.2d" in compiler.ptx(plan)


def test_each_launch_has_build_facts_of_its_own(compiler):
    plan = planned("split_k", Problem(33, 18, 50))
    parts, total = (compiler.compile(one).build for one in plan.split_launches())
    assert (parts.shared, total.shared) == (2 * 16 * 17 * 4, 0)
    assert compiler.compile(plan).build.registers == total.registers
