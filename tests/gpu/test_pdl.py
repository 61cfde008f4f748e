"""Launches that overlap, on compute capability 9.0 and up: right in windows, in graphs and without overlap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gemmbench.analysis import toolkit
from gemmbench.backends import registry
from gemmbench.backends.base import OperandSet, Place, Step
from gemmbench.backends.cuda import graphs
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import DeviceError
from gemmbench.planning.manifests.catalog import read_variant
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


@pytest.mark.parametrize("pdl", [True, False])
def test_recorded_launches_overlap_by_programmatic_dependencies(hopper, plan, pdl):
    driver = pytest.importorskip("cuda.bindings.driver")
    planned = plan(Problem(64, 64, 64), hopper.device.target)
    planned = planned if pdl else planned.without_pdl()
    loaded = hopper.load(NvccCompiler().compile(planned), planned)
    memory, workspace = hopper.allocate(3 * 64 * 64 * 4), hopper.allocate(64 * 64 * 4)
    sets = (OperandSet(0, 64 * 64 * 4, 2 * 64 * 64 * 4),)
    bound = hopper.bind("test", [Step(loaded, planned, sets, Place(workspace, 0))], memory)
    bound.time(1)  # loads the code
    graph = graphs._record(driver, lambda: [bound.queue() for _ in range(3)], hopper.stream)
    _, *_, count = driver.cuGraphGetEdges(graph)
    _, _, _, edges, _ = driver.cuGraphGetEdges(graph, count)
    driver.cuGraphDestroy(graph)
    memory.free()
    workspace.free()
    kinds = [driver.CUgraphDependencyType(int(edge.type)) for edge in edges]
    wanted = "PROGRAMMATIC" if pdl else "DEFAULT"
    assert [kind.name for kind in kinds] == [f"CU_GRAPH_DEPENDENCY_TYPE_{wanted}"] * 5


@pytest.mark.parametrize("options", [[], ["--no-pdl"]])
def test_verify_finds_no_fault(hopper, plan, tmp_path, options):
    plan(Problem(64, 64, 64))
    done = gemmbench(tmp_path, "verify", "./overlapping.cu", *options)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_run_marks_the_row(hopper, plan, tmp_path):
    plan(Problem(64, 64, 64))
    done = gemmbench(tmp_path, "compare", "./overlapping.cu", "naive", "--sizes", "256", "--rounds", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "P PDL: launches may begin before the launch before them has ended" in done.stdout
