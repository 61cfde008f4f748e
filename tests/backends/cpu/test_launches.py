"""Plans of several kernels, with a workspace, run on the CPU; what needs TMA does not."""

from pathlib import Path

import numpy as np
import pytest

from gemmbench.backends import registry
from gemmbench.errors import LaunchError, OutOfMemory
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Config, Geometry, Plan, Skip
from gemmbench.planning.problems import LAYOUTS, Problem

KERNELS = Path(__file__).parents[2] / "kernels"
HEAD = """extern "C" __global__ void {}(
    int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void* workspace)"""


def planned(bench, name, problem, **values):
    variant = Catalog([KERNELS]).get(name)
    config = Config(tuple({**variant.default(), **values}.items()))
    targets = {"cpu": bench.backend.device.target}
    (found,) = make_plans([problem], [(variant, [config])], "cpu", targets, registry.why_refused)
    return found


def integers(shape, seed=1):
    return np.random.default_rng(seed).choice(np.array([-2, -1, 1, 2], np.float32), shape)


@pytest.mark.parametrize("mode", ["", "forward", "reverse"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_parts_are_written_to_the_workspace_and_added_by_the_next_kernel(bench, layout, mode):
    problem = Problem(33, 18, 50, layout, beta=3.0)
    a, b, c = integers(problem.shape("A")), integers(problem.shape("B"), 2), integers(problem.shape("C"), 3)
    plan = planned(bench, "split_k", problem)
    assert plan.symbols == ("parts", "total")
    want = 2 * (a.T if problem.trans_a else a) @ (b.T if problem.trans_b else b) + 3 * c
    np.testing.assert_array_equal(bench.run(plan, a, b, c, mode, alpha=2.0), want)


def test_a_launch_that_is_left_out_does_not_run(bench):
    problem = Problem(17, 17, 17)
    plan = planned(bench, "split_k", problem, SPLITS=1)
    assert (plan.symbols, plan.workspace) == (("parts",), 0)
    a, b = integers((17, 17)), integers((17, 17), 2)
    np.testing.assert_array_equal(bench.run(plan, a, b), a @ b)


def test_what_was_restored_serves_the_next_launch_on_every_set(bench):
    problem = Problem(20, 20, 40)
    a, b, c = integers((20, 40)), integers((40, 20), 2), np.full((20, 20), np.nan, np.float32)
    executable, results = bench.bind(planned(bench, "split_k", problem), a, b, [c, c])
    executable.time(4)
    for result in results:
        np.testing.assert_array_equal(result, a @ b)


def by_hand(bench, text, launches, workspace=0, problem=(1, 1, 1), zeroed=0):
    plan = bench.plan(text, problem)
    variant = bench.variant(text, workspace=True)
    sizes = {"workspace": workspace, "zeroed": zeroed}
    return Plan(plan.problem, variant, Config(), "cpu", "", launches[-1][1], launches=launches, **sizes)


def test_every_kernel_has_its_own_blocks_and_shared_memory(bench):
    body = """{
        extern __shared__ float own[];
        const int t = threadIdx.y * blockDim.x + threadIdx.x, last = blockDim.x * blockDim.y - 1;
        own[t] = t;
        __syncthreads();
        C[PLACE + blockIdx.x * (last + 1) + t] = 1000 * gridDim.x + own[last - t];
    }"""
    text = HEAD.format("one") + body.replace("PLACE", "0") + HEAD.format("two") + body.replace("PLACE", "96")
    launches = (("one", Geometry((3, 1, 1), (8, 4, 1), 128)), ("two", Geometry((2, 1, 1), (100, 1, 1), 400)))
    for mode in ("", "forward", "reverse"):
        found = bench.run(by_hand(bench, text, launches, problem=(1, 296, 1)), mode=mode)[0]
        np.testing.assert_array_equal(found[:96], np.tile(3000 + np.arange(32)[::-1], 3))
        np.testing.assert_array_equal(found[96:], np.tile(2000 + np.arange(100)[::-1], 2))


def test_a_kernel_has_no_more_shared_memory_than_its_own_launch_asks_for(bench):
    text = HEAD.format("one") + "{}" + HEAD.format("two") + "{ extern __shared__ float own[]; own[5000] = 1; }"
    one = Geometry((1, 1, 1), (1, 1, 1), 32768)
    with pytest.raises(LaunchError, match="SIGSEGV"):
        bench.run(by_hand(bench, text, (("one", one), ("two", Geometry((1, 1, 1), (1, 1, 1), 16)))))


def test_the_workspace_begins_as_declared_for_every_binding(bench):
    plan = by_hand(
        bench,
        HEAD.format("gemm") + "{ C[0] = static_cast<float*>(workspace)[1023]++; }",
        (("gemm", Geometry((1, 1, 1), (1, 1, 1), 0)),),
        workspace=4100,
        zeroed=4096,
    )
    assert [float(bench.run(plan)[0, 0]) for _ in range(2)] == [0, 0]


def test_a_write_far_beyond_the_workspace_is_seen(bench):
    text = HEAD.format("gemm") + "{ static_cast<float*>(workspace)[1 << 20] = 1; }"
    plan = by_hand(bench, text, (("gemm", Geometry((1, 1, 1), (1, 1, 1), 0)),), workspace=4096)
    with pytest.raises(LaunchError, match="SIGSEGV"):
        bench.run(plan)


def test_a_workspace_that_does_not_fit_is_told(bench):
    text = HEAD.format("gemm") + "{}"
    plan = by_hand(bench, text, (("gemm", Geometry((1, 1, 1), (1, 1, 1), 0)),), workspace=1 << 50)
    with pytest.raises(OutOfMemory, match="cannot allocate 1073741824 MiB"):
        bench.run(plan)


def test_what_needs_tma_is_a_skip_and_a_row_that_picks_it_goes_on(bench):
    skip = planned(bench, "tma", Problem(64, 64, 64))
    assert isinstance(skip, Skip) and skip.reason.startswith("needs a GPU with TMA: ")
    assert str(planned(bench, "dispatch", Problem(64, 64, 64)).config) == "split_k: SPLITS=1"
