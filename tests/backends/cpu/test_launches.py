"""Plans of several kernels, with a workspace, run on the CPU; what needs TMA does not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemmbench.backends.cpu.backend import limit_launch
from gemmbench.errors import LaunchError
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.plan import Geometry, Skip
from gemmbench.planning.problems import LAYOUTS, Problem

VARIANT = Catalog([Path(__file__).parents[2] / "kernels"]).get
HEAD = """extern "C" __global__ void {}(
    int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void* workspace)"""


ONE = Geometry((1, 1, 1), (1, 1, 1), 0)


@pytest.mark.parametrize("mode", ["", "forward", "reverse"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_parts_are_written_to_the_workspace_and_added_by_the_next_kernel(bench, layout, mode):
    a, b, c, product = bench.operands(33, 18, 50, layout)
    plan = bench.plan_variant(VARIANT("split_k"), Problem(33, 18, 50, layout, beta=3.0))
    assert plan.symbols == ("parts", "total")
    np.testing.assert_array_equal(bench.run(plan, a, b, c, mode, alpha=2.0), 2 * product + 3 * c)


def test_a_launch_that_is_left_out_does_not_run(bench):
    plan = bench.plan_variant(VARIANT("split_k"), Problem(17, 17, 17), SPLITS=1)
    assert (plan.symbols, plan.workspace) == (("parts",), 0)
    a, b, _, product = bench.operands(17, 17, 17)
    np.testing.assert_array_equal(bench.run(plan, a, b), product)


def test_what_was_restored_serves_the_next_launch_on_every_set(bench):
    a, b, _, product = bench.operands(20, 20, 40)
    plan = bench.plan_variant(VARIANT("split_k"), Problem(20, 20, 40))
    executable, results = bench.bind(plan, a, b, [np.full((20, 20), np.nan, np.float32)] * 2)
    executable.time(4)
    np.testing.assert_array_equal(results, [product, product])


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
        found = bench.run(bench.plan_launches(text, *launches, problem=(1, 296, 1)), mode=mode)[0]
        np.testing.assert_array_equal(found[:96], np.tile(3000 + np.arange(32)[::-1], 3))
        np.testing.assert_array_equal(found[96:], np.tile(2000 + np.arange(100)[::-1], 2))


def test_a_kernel_has_no_more_shared_memory_than_its_own_launch_asks_for(bench):
    text = HEAD.format("one") + "{}" + HEAD.format("two") + "{ extern __shared__ float own[]; own[5000] = 1; }"
    launches = ("one", replace(ONE, shared=32768)), ("two", replace(ONE, shared=16))
    with pytest.raises(LaunchError, match="SIGSEGV"):
        bench.run(bench.plan_launches(text, *launches))


def test_the_workspace_begins_as_declared_for_every_binding(bench):
    text = HEAD.format("gemm") + "{ C[0] = static_cast<float*>(workspace)[1023]++; }"
    plan = bench.plan_launches(text, ("gemm", ONE), workspace=4100, zeroed=4096)
    assert [float(bench.run(plan)[0, 0]) for _ in range(2)] == [0, 0]


def test_a_write_far_beyond_the_workspace_is_seen(bench):
    text = HEAD.format("gemm") + "{ static_cast<float*>(workspace)[1 << 20] = 1; }"
    with pytest.raises(LaunchError, match="SIGSEGV"):
        bench.run(bench.plan_launches(text, ("gemm", ONE), workspace=4096))


def test_what_needs_tma_is_a_skip_and_a_row_that_picks_it_goes_on(bench):
    skip, plan = (bench.plan_variant(VARIANT(name), Problem(64, 64, 64)) for name in ("tma", "dispatch"))
    assert isinstance(skip, Skip) and skip.reason.startswith("needs a GPU with TMA: ")
    assert str(plan.config) == "split_k: SPLITS=1"


def test_a_launch_of_a_tiny_problem_has_five_seconds_and_a_large_one_minutes():
    assert 5 <= limit_launch(Problem(31, 61, 97)) < 6
    assert limit_launch(Problem(2048, 2048, 2048)) > 600
