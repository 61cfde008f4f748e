"""What is launched with which arguments and attributes, on drivers that only write down what they are given."""

from __future__ import annotations

import gc
import struct
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gemmbench.backends.base import Step
from gemmbench.backends.cuda import backend
from gemmbench.backends.cuda.driver import translate_errors
from gemmbench.backends.cuda.graphs import record_turns
from gemmbench.backends.cuda.launch import Kernel
from gemmbench.errors import DeviceLost, LaunchError, NotOffered
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.plan import Geometry
from gemmbench.planning.problems import Problem

VARIANT = Catalog([Path(__file__).parents[2] / "kernels"]).get
STREAM = SimpleNamespace(handle=7, synchronize=lambda: None)
SETS = [{"A": 0x10000, "B": 0x20000, "C": 0x30000}, {"A": 0x40000, "B": 0x50000, "C": 0x60000}]
FIRST, SECOND = Geometry((8, 1, 1), (64, 1, 1), 0), Geometry((3, 4, 1), (128, 1, 1), 100 << 10, pdl=True)


@pytest.fixture
def log():
    """The launches through pycuda."""
    return []


@pytest.fixture(autouse=True)
def memory(log, stub_pycuda, monkeypatch):
    """The allocations by address, one MiB apart from 1 MiB on, of a pycuda whose kernels write down their launches."""
    memory: dict[int, np.ndarray] = {}

    def mem_alloc(nbytes):
        address = (len(memory) + 1) << 20
        memory[address] = np.full(nbytes, 0xA5, np.uint8)
        return address

    def copy(address, array):
        memory[address][: array.nbytes] = array.reshape(-1).view(np.uint8)

    def get_function(symbol):
        known = {"shared_size_bytes": 1024, "num_regs": 40, "set_attribute": lambda *_: None}
        return SimpleNamespace(**known, _launch_kernel=lambda *launch: log.append((symbol, *launch)))

    numbers = SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
    stub_pycuda(MemoryError=MemoryError, mem_alloc=mem_alloc, memcpy_htod=copy, function_attribute=numbers)
    module = SimpleNamespace(get_function=get_function)
    monkeypatch.setattr("gemmbench.backends.cuda.launch.load_cubin", lambda path, arch: module)
    return memory


@pytest.fixture
def encoded(bindings):
    """What tensor maps are made from; the first words of a map are its number, address and shape."""
    asked = []

    class Constants:
        """An enumeration whose every name is a constant."""

        def __getattr__(self, name):
            return name

    for name in ("DataType", "Interleave", "Swizzle", "L2promotion", "FloatOOBfill"):
        setattr(bindings, f"CUtensorMap{name}", Constants())

    def encode(*arguments):
        asked.append(arguments)
        words = [len(asked), arguments[2], *arguments[3]]
        code = bindings.faults.get("cuTensorMapEncodeTiled", bindings.CUresult.CUDA_SUCCESS)
        return code, SimpleNamespace(opaque=[*words, *[0] * (16 - len(words))])

    bindings.cuuint64_t = bindings.cuuint32_t = int
    bindings.cuTensorMapEncodeTiled = encode
    return asked


@pytest.fixture
def split_k(plan_variant):
    return plan_variant(VARIANT("split_k"), Problem(33, 18, 50, alpha=2.0, beta=0.5))


@pytest.fixture
def tma(plan_variant):
    return plan_variant(VARIANT("tma"), Problem(40, 36, 68))


@pytest.fixture
def overlapping(make_text_plan):
    """Two launches, of which the second may overlap with the first."""
    problem = Problem(32, 24, 16)
    return replace(make_text_plan(""), problem=problem, launches=(("turn", FIRST), ("gemm", SECOND)))


def with_workspace(sets):
    return [{**each, "workspace": 1 << 20} for each in sets]


def load(plan, smem=128 << 10):
    return Kernel("code.cubin", "90", plan.launches, smem, STREAM, plan.variant.maps_by_value)


def test_one_launch_of_a_plan_queues_its_kernels_in_order_with_the_same_arguments(log, split_k):
    calls = load(split_k).calls(split_k, with_workspace(SETS))
    assert (calls.kernels, len(calls.queue)) == (2, 2)
    calls.queue[1]()
    expected = struct.pack("@iiifPPfPP", 33, 18, 50, 2.0, 0x40000, 0x50000, 0.5, 0x60000, 1 << 20)
    assert [(*launch[:4], launch[5]) for launch in log] == [
        ("parts", (2, 3, 3), (16, 16, 1), expected, STREAM),
        ("total", (10, 1, 1), (64, 1, 1), expected, STREAM),
    ]
    assert calls.launch.startswith("parts: grid 2x3x3") and ", then total: grid 10x1x1" in calls.launch


def test_integers_are_multiplied_by_integers(log, split_k):
    plan = replace(split_k, problem=replace(split_k.problem, precision_name="int8", beta=-3.0))
    load(plan).calls(plan, with_workspace(SETS)).queue[0]()
    assert log[0][3] == struct.pack("@iiiiPPiPP", 33, 18, 50, 2, 0x10000, 0x20000, -3, 0x30000, 1 << 20)


def test_a_plan_that_uses_no_workspace_has_a_null_pointer_and_allocates_nothing(log, memory, plan_variant):
    plan = plan_variant(VARIANT("split_k"), Problem(33, 18, 50, alpha=2.0, beta=0.5), SPLITS=1)
    calls = load(plan).calls(plan, SETS)
    calls.queue[0]()
    ((symbol, _, _, arguments, *_),) = log
    assert (symbol, calls.kernels, memory) == ("parts", 1, {})
    assert arguments == struct.pack("@iiifPPfPP", 33, 18, 50, 2.0, 0x10000, 0x20000, 0.5, 0x30000, 0)


def test_every_set_has_its_own_maps(log, memory, encoded, tma):
    calls = load(tma).calls(tma, SETS)
    for queue in calls.queue:
        queue()
    words = memory[1 << 20].view(np.uint64).reshape(2, 3, 16)
    assert words[:, 0, :4].tolist() == [[1, 0x10000, 68, 40], [3, 0x40000, 68, 40]]
    assert not words[:, 1].any()  # the map of the workspace, which this layout does not use
    assert words[:, 2, :4].tolist() == [[2, 0x20000, 36, 68], [4, 0x50000, 36, 68]]
    ends = [struct.unpack("@iiifPPfPPP", arguments)[-2:] for _, _, _, arguments, _, _ in log]
    assert ends == [(0, 1 << 20), (0, (1 << 20) + 3 * 128)]


def test_maps_by_value_lie_where_the_kernel_reads_its_last_parameter(bindings, memory, encoded, tma):
    plan = replace(tma, variant=replace(tma.variant, maps_by_value=True))
    for queue in load(plan).calls(plan, with_workspace(SETS)).queue:
        queue()
    _, _, packed = bindings.queued[-1]
    usual = struct.pack("@iiifPPfPP", 40, 36, 68, 1.0, *list(SETS[1].values())[:2], 0.0, 0x60000, 1 << 20)
    (_, offset, _) = bindings.cuFuncGetParamInfo(None, 9)
    assert packed[: len(usual)] == usual
    assert np.frombuffer(packed[offset:], np.uint64).reshape(3, 16)[2, :4].tolist() == [4, 0x50000, 36, 68]
    assert not memory  # no map is read from device memory


def test_a_map_is_encoded_as_it_is_declared(encoded, plan_variant):
    plan = plan_variant(VARIANT("tma"), Problem(40, 36, 66, "tn"))
    load(plan).calls(plan, with_workspace(SETS[:1]))
    workspace, b = encoded
    assert workspace[:3] == ("CU_TENSOR_MAP_DATA_TYPE_FLOAT32", 2, 1 << 20)
    assert workspace[3:7] == ([66, 40], [4 * 68], [32, 32], [1, 1])
    names = "INTERLEAVE_NONE SWIZZLE_128B L2_PROMOTION_L2_128B FLOAT_OOB_FILL_NONE"
    assert workspace[7:] == tuple(f"CU_TENSOR_MAP_{name}" for name in names.split())
    assert (b[2], b[8]) == (0x20000, "CU_TENSOR_MAP_SWIZZLE_NONE")


def test_an_operand_that_is_not_aligned_here_is_not_offered(encoded, tma):
    with pytest.raises(NotOffered, match="tensor map of A: its address is not a multiple of 16 here"):
        load(tma).calls(tma, [{**SETS[0], "A": 0x10004}])


def test_a_map_that_the_driver_refuses_is_not_offered(bindings, encoded, tma):
    bindings.faults["cuTensorMapEncodeTiled"] = bindings.CUresult.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(NotOffered, match=r"tensor map of A: the driver rejects .*CUDA_ERROR_INVALID_VALUE"):
        load(tma).calls(tma, SETS)


def test_without_cuda_bindings_the_fix_is_named(tma, overlapping, monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    fix = "need cuda-bindings: pip install .*nvmath-python"
    with pytest.raises(NotOffered, match=f"tensor maps {fix}"):
        load(tma).calls(tma, SETS)
    with pytest.raises(NotOffered, match=f"launches that overlap or have clusters {fix}"):
        load(overlapping)


def test_a_launch_that_asks_for_too_much_shared_memory_is_told(split_k):
    with pytest.raises(LaunchError, match=r"a block needs 1,024 bytes of shared memory, but this GPU has 1,000"):
        load(split_k, smem=1000)


@pytest.mark.parametrize("layout", ["nn", "tn"])
def test_the_kernels_of_these_tests_compile_for_hopper(warm_compiler, plan_variant, layout):
    plan = plan_variant(VARIANT("tma"), Problem(40, 36, 68, layout))
    for one in plan.split_launches():
        assert warm_compiler.compile(one).build.registers > 0
    assert "cp.async.bulk.tensor.2d" in warm_compiler.ptx(plan)


def test_each_launch_has_build_facts_of_its_own(warm_compiler, split_k):
    parts, total = (warm_compiler.compile(one).build for one in split_k.split_launches())
    assert (parts.shared, total.shared) == (2 * 16 * 17 * 4, 0)
    assert warm_compiler.compile(split_k).build.registers == total.registers


def test_only_the_launch_that_may_overlap_has_the_attribute(bindings, overlapping):
    calls = load(overlapping).calls(overlapping, SETS)
    calls.queue[1]()
    (first, turn, _), (second, gemm, arguments) = bindings.queued
    assert (turn, gemm, calls.kernels) == (b"turn", b"gemm", 2)
    sizes = dict(zip(("gridDimX", "gridDimY", "gridDimZ"), FIRST.grid, strict=True))
    sizes |= dict(zip(("blockDimX", "blockDimY", "blockDimZ"), FIRST.block, strict=True))
    assert vars(first) == {**sizes, "sharedMemBytes": 0, "hStream": 7, "attrs": [], "numAttrs": 0}
    assert (second.gridDimX, second.gridDimY, second.blockDimX, second.sharedMemBytes) == (3, 4, 128, 100 << 10)
    ((attribute,), count) = second.attrs, second.numAttrs
    assert (attribute.id, attribute.value.programmaticStreamSerializationAllowed, count) == (6, 1, 1)
    assert arguments == struct.pack("@iiifPPfP", 32, 24, 16, 1.0, 0x40000, 0x50000, 0.0, 0x60000)


def test_clusters_are_an_attribute_of_their_launch(bindings, overlapping):
    plan = replace(overlapping, launches=(("gemm", replace(FIRST, cluster=4)),))
    calls = load(plan).calls(plan, SETS)
    calls.queue[0]()
    ((config, *_),) = bindings.queued
    (attribute,) = config.attrs
    assert (attribute.id, vars(attribute.value.clusterDim), config.numAttrs) == (4, {"x": 4, "y": 1, "z": 1}, 1)
    assert calls.launch.startswith("gemm: grid 8x1x1 in clusters of 4, block 64x1x1,")


def test_a_launch_is_converted_once(bindings, overlapping):
    (queue, _) = load(overlapping).calls(overlapping, SETS).queue
    queue()
    queue()
    before, after = bindings.queued[:2], bindings.queued[2:]
    assert all(one is other for (one, *_), (other, *_) in zip(before, after, strict=True))


def test_a_kernel_may_have_as_much_shared_memory_as_it_asks_for(bindings, overlapping):
    load(overlapping)
    asked = [call for call in bindings.calls if call[0] == "cuFuncSetAttribute"]
    assert asked == [("cuFuncSetAttribute", b"gemm", 8, 100 << 10)]


def test_the_code_stays_loaded_as_long_as_it_can_be_launched(bindings, overlapping):
    calls = load(overlapping).calls(overlapping, SETS)
    gc.collect()
    assert ("cuModuleUnload", 11) not in bindings.calls
    del calls
    gc.collect()
    assert bindings.calls.count(("cuModuleUnload", 11)) == 1


def test_without_overlap_pycuda_loads_and_launches(log, bindings, overlapping):
    usual = replace(overlapping, launches=(("turn", FIRST), ("gemm", replace(SECOND, pdl=False))))
    load(usual).calls(usual, SETS).queue[0]()
    assert (len(log), bindings.calls, bindings.queued) == (2, [], [])


def test_launches_that_overlap_are_recorded_in_a_graph(bindings, overlapping):
    recorded = record_turns(load(overlapping).calls(overlapping, SETS), STREAM, 3)
    assert ("cuStreamBeginCapture", 7, "relaxed") in bindings.calls
    recorded.graphs.launch()
    assert bindings.queued[-1] == f"graph of {3 * 2 * 2}"


def test_a_crash_loses_the_device_as_one_that_pycuda_reports(bindings, overlapping):
    kernel = load(overlapping)
    bindings.faults["cuLaunchKernelEx"] = bindings.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    calls = kernel.calls(overlapping, SETS)
    lost = pytest.raises(DeviceLost, match=r"CUDA_ERROR_ILLEGAL_ADDRESS: .*cuLaunchKernelEx failed")
    with lost, translate_errors(kernel.errors, calls.launch):
        calls.queue[0]()


def test_code_that_cannot_be_loaded_says_why(bindings, overlapping):
    bindings.faults["cuModuleGetFunction"] = bindings.CUresult.CUDA_ERROR_NOT_FOUND
    failed = pytest.raises(LaunchError, match="cuModuleGetFunction failed: named symbol not found")
    with failed, translate_errors(Kernel.errors):
        load(overlapping)


def test_a_batch_is_launched_product_by_product_where_a_kernel_takes_none(log, plan_variant):
    problem = Problem(33, 18, 50, alpha=2.0, beta=0.5, count=3)
    plan = plan_variant(VARIANT("split_k"), problem, SPLITS=1)
    step = Step(load(plan), plan, tuple(SETS))
    calls = backend._step_calls(step, SimpleNamespace(address=0x1000000))
    assert (len(calls.queue), calls.kernels, plan.products) == (2, 3, 3)
    calls.queue[1]()
    sizes = {operand.name: operand.nbytes // 3 for operand in problem.operands}
    places = [[0x1000000 + SETS[1][name] + number * sizes[name] for name in "ABC"] for number in range(3)]
    expected = [struct.pack("@iiifPPfPP", 33, 18, 50, 2.0, a, b, 0.5, c, 0) for a, b, c in places]
    assert [launch[3] for launch in log] == expected
