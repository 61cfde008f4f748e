"""Launches that overlap, on compute capability 9.0 and up: right, and never with another product unless asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemmbench.analysis import toolkit
from gemmbench.backends import registry
from gemmbench.backends.base import Place, Step
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import DeviceError
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog, read_variant
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Config, Plan, Target
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from tests.gpu.foreign_runs import gemmbench

pytestmark = pytest.mark.filterwarnings("default")  # pycuda may warn as it is imported

HOPPER = Target("cuda", sm=90, sms=132, smem=227 << 10, l2=50 << 20, memory=1 << 36)
TEXT = """/*---
summary: A is copied to the workspace, and multiplied from there
order: 1
precisions: [f32]
layouts: [nn]
min_sm: 90
workspace: 4 * M * K
launches:
  - symbol: bring
    grid:
      - cdiv(M * K, 256)
    block: [256]
    pdl: true
  - symbol: multiply
    grid:
      - cdiv(N, 16)
      - cdiv(M, 16)
    block: [16, 16]
    shared: 64 * 1024
    pdl: true
---*/
__device__ int steps;  // of K, for the second kernel: both are of one module

__device__ void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;"); }
__device__ void wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

extern "C" __global__ void bring(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                 void* workspace) {
    launch_dependents();
    wait();  // the product of the launch before may still read the workspace
    const int index = blockIdx.x * 256 + threadIdx.x;
    if (index < M * K) static_cast<TA*>(workspace)[index] = A[index];
    if (index == 0) steps = (K + 15) / 16;
}

extern "C" __global__ void multiply(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                    const void* workspace) {
    extern __shared__ TACC tiles[];
    TACC *a = tiles, *b = tiles + 16 * 17;
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    launch_dependents();
    wait();
    const TA* brought = static_cast<const TA*>(workspace);
    const int count = steps;
    TACC sum = 0;
    for (int step = 0; step < count; ++step) {
        const int ka = 16 * step + x, kb = 16 * step + y;
        a[17 * y + x] = row < M && ka < K ? brought[row * K + ka] : 0;
        b[17 * y + x] = column < N && kb < K ? B[kb * N + column] : 0;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[17 * y + k] * b[17 * k + x];
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = beta == 0 ? alpha * sum : alpha * sum + beta * C[row * N + column];
}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., Plan]:
    """A plan of the kernel above."""
    path = tmp_path / "overlapping.cu"
    path.write_text(TEXT)

    def make(problem: Problem, target: Target = HOPPER) -> Plan:
        chosen = [(read_variant(path), [Config()])]
        (found,) = make_plans([problem], chosen, "cuda", {"cuda": target}, registry.why_refused)
        assert isinstance(found, Plan), found.reason
        return found

    return make


@pytest.fixture
def hopper(backend: Any) -> Any:
    """The GPU, if launches can overlap there."""
    if backend.device.target.sm < 90:
        pytest.skip("programmatic dependent launch needs compute capability 9.0")
    pytest.importorskip("cuda.bindings")
    return backend


def test_the_kernel_of_these_tests_compiles_for_hopper(plan):
    try:
        toolkit.find_nvcc()
    except DeviceError as fault:
        pytest.skip(str(fault))
    ptx = NvccCompiler().ptx(plan(Problem(64, 64, 64)))
    assert ptx.count("griddepcontrol.wait") == ptx.count("griddepcontrol.launch_dependents") == 2


@pytest.mark.parametrize("pdl", [True, False])
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_overlapping_launches_are_right_in_graphs_and_launch_by_launch(hopper, plan, beta, pdl):
    planned = plan(Problem(192, 160, 96, beta=beta), hopper.device.target)
    batch = make_gemm_batch([planned], [NvccCompiler().compile(planned)], Policy(rounds=10, max_time=0.5, pdl=pdl))
    (record,) = LocalWorker({"cuda": hopper}).experiment(batch)
    assert (record.status, record.reason, record.pdl) == ("ok", "", pdl)
    assert (record.graph, record.no_graph) == (beta == 0, "")
    print(f"beta {beta}, pdl {pdl}: {1e6 * min(record.samples):.2f} us")


TRACE = """
struct Trace {  // of a warp: where its record goes, and when it began
    unsigned long long begin = now();
    static __device__ unsigned long long now() {
        unsigned long long time;
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
        return time;
    }
    __device__ ~Trace() {
        const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        if (thread % 32) return;
        auto* records = reinterpret_cast<unsigned long long*>(ADDRESSull);
        const unsigned long long slot = atomicAdd(records, 1ull);
        records[1 + 2 * slot] = begin;
        records[2 + 2 * slot] = now();
    }
};
"""
HASTY = """/*---
summary: the second launch is empty and waits for nothing, so that it ends before the first
order: 1
precisions: [f32]
layouts: [nn]
min_sm: 90
launches:
  - symbol: work
    grid: [64]
    block: [128]
    pdl: FIRST
  - symbol: hurry
    grid: [1]
    block: [32]
    pdl: true
---*/
extern "C" __global__ void work(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    asm volatile("griddepcontrol.launch_dependents;");
    for (const long long from = clock64(); clock64() - from < 100000;) {}  // 50 us
}
extern "C" __global__ void hurry(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    asm volatile("griddepcontrol.launch_dependents;");
}
"""
SIZES = [(1024, 1024, 1024), (1023, 1023, 1023), (128, 2048, 4096)]
PRODUCTS = 6


def plan_several_launches(variant: Variant) -> Plan | None:
    """A plan of the variant on Hopper with several launches, if there is one among a few problems."""
    if len(variant.launches) < 2:
        return None
    kind = variant.precisions[0]
    problems = [Problem(*size, layout, kind) for size in SIZES for layout in variant.layouts]
    config = list_configurations(variant, {})[0]
    planned = make_plans(problems, [(variant, [config])], "cuda", {"cuda": HOPPER}, registry.why_refused)
    return next((each for each in planned if isinstance(each, Plan) and len(each.launches) > 1), None)


def find_shipped() -> list[Plan]:
    """Of each shipped kernel with several launches, a plan."""
    readable, _ = Catalog([data_folder("cuda")]).read_all()
    return [found for variant in readable if (found := plan_several_launches(variant))]


SHIPPED = find_shipped()


@pytest.fixture
def trace(hopper):
    """When each warp of several products began and ended, in the order of the beginnings, in ns of the device."""
    memory = hopper.allocate(64 << 20)

    def run(plan: Plan, turns: int) -> tuple[np.ndarray, int]:
        compiler = NvccCompiler()
        text = TRACE.replace("ADDRESS", str(memory.address)) + compiler.text(plan)
        for symbol in dict.fromkeys(symbol.partition("<")[0] for symbol in plan.symbols):
            text, found = re.subn(rf"(\b{symbol}\s*\([^()]*\)\s*\{{)", r"\1 Trace trace;", text, count=1)
            assert found, symbol
        cubin = compiler.cubin(text, plan.arch, plan.symbols, "traced.cu")
        loaded = hopper.load(cubin, plan)
        problem = plan.problem
        ends = list(accumulate(-(-operand.nbytes // 1024) * 1024 for operand in problem.operands))
        operands = hopper.allocate(ends[-1])
        workspace = hopper.allocate(max(plan.workspace, 16))
        operands.fill(0, ends[-1], 0)
        workspace.fill(0, max(plan.workspace, 16), 0)
        places = [operand.name for operand in problem.operands]
        sets = (dict(zip(places, [0, *ends], strict=False)),)
        step = Step(loaded, plan, sets, Place(workspace, 0))
        bound = hopper.bind("traced", [step], operands, turns=turns)
        bound.time(PRODUCTS)
        memory.fill(0, 8, 0)
        bound.time(PRODUCTS)
        count = np.zeros(1, np.uint64)
        memory.read(0, count)
        records = np.zeros((int(count[0]), 2), np.uint64)
        memory.read(8, records)
        operands.free()
        workspace.free()
        warps = sum(math.prod(each.grid) * -(-each.threads // 32) for _, each in plan.launches)
        return records[np.argsort(records[:, 0])], warps

    yield run
    memory.free()


def count_overlaps(records: np.ndarray, warps: int) -> int:
    """How many products begin before the one before them has ended."""
    assert len(records) == PRODUCTS * warps
    bounds = range(warps, len(records), warps)
    return sum(int(records[at:, 0].min() < records[:at, 1].max()) for at in bounds)


@pytest.mark.parametrize("turns", [0, PRODUCTS])
@pytest.mark.parametrize("plan", SHIPPED, ids=lambda plan: plan.variant.name)
def test_no_product_of_a_shipped_kernel_begins_before_the_one_before_has_ended(trace, plan, turns):
    assert count_overlaps(*trace(plan.without_pdl(), turns)) == 0


@pytest.mark.parametrize("turns", [0, PRODUCTS])
@pytest.mark.parametrize("overlap", [False, True])
def test_a_last_launch_that_ends_first_lets_no_product_in(trace, tmp_path, overlap, turns):
    path = tmp_path / "hasty.cu"
    path.write_text(HASTY.replace("FIRST", str(overlap).lower()))
    (plan,) = make_plans(
        [Problem(64, 64, 64)], [(read_variant(path), [Config()])], "cuda", {"cuda": HOPPER}, registry.why_refused
    )
    overlaps = count_overlaps(*trace(plan, turns))
    assert overlaps > 0 if overlap else overlaps == 0


@pytest.mark.parametrize("options", [[], ["--no-pdl"]])
def test_verify_finds_no_fault(hopper, plan, tmp_path, options):
    plan(Problem(64, 64, 64))
    done = gemmbench(tmp_path, "verify", "./overlapping.cu", *options)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_run_marks_the_row(hopper, plan, tmp_path):
    plan(Problem(64, 64, 64))
    words = "compare", "./overlapping.cu", "naive", "--sizes", "256", "--rounds", "4", "--notes"
    usual, marked = gemmbench(tmp_path, *words), gemmbench(tmp_path, *words, "--pdl")
    assert usual.returncode == marked.returncode == 0, usual.stderr + marked.stderr
    assert "+pdl" not in usual.stdout
    assert "+pdl" in marked.stdout and "P PDL: a product may begin before" in marked.stdout
