"""Chains, what one row measures, and how much workspace libraries may use."""

from dataclasses import replace

from gemmbench.backends.cuda.library_variants import CUBLAS, WORKSPACE
from gemmbench.planning.networks import Network
from gemmbench.planning.plans.plan import Config, Plan, Skip, level_workspaces, list_plans, make_chain, shorten_device
from gemmbench.planning.problems import Problem

CUBE = Problem(8, 8, 8)


def test_a_gemm_is_a_chain_of_one_step_and_a_skip_one_without(make_plan, make_variant):
    plan = make_plan("tiled", CUBE, {"T": 8})
    chain = make_chain(plan)
    assert (chain.name, chain.config, chain.steps, chain.reason) == ("tiled", plan.config, (plan,), "")
    assert (chain.problem_or_network, chain.launches) == (CUBE, ["tiled"])
    assert chain.kernel_key == (CUBE, "tiled", ("T", 8))
    assert list_plans([chain, make_chain(plan)]) == [plan]  # each is compiled once
    chain = make_chain(Skip(CUBE, make_variant("tiled"), Config(), "cuda", "no GPU"))
    assert (chain.steps, chain.reason, chain.device) == ((), "no GPU", "cuda")


def test_a_chain_with_other_scalars_binds_the_same_code(make_plan):
    chain = make_chain(make_plan("tiled", CUBE))
    (step,) = chain.with_scalars(2.0, -1.0).steps
    assert (step.problem.alpha, step.problem.beta) == (2.0, -1.0)
    assert replace(step, problem=CUBE) == chain.steps[0]


def test_a_network_is_named_by_its_variant_and_whether_it_is_a_graph(make_plan):
    network = Network((4, 3), ("relu",), 2)
    gemm, helper = make_plan("tiled", network.layer(0)), make_plan("pass", network.layer(0))
    chain = replace(make_chain(gemm), network=network, steps=(gemm, helper), graph=True)
    assert (chain.name, chain.launches) == ("tiled+graph", ["tiled+bias+relu", "pass+bias+relu"])
    assert chain.problem_or_network == network


def test_a_library_with_a_workspace_may_use_as_much_as_the_largest_kernel_of_all_problems(make_variant):
    kernel, without = make_variant("kernel"), make_variant("openblas", kind="library")

    def level(*rows):
        plans = [Plan(CUBE, variant, Config(), "cuda", "", None, workspace=least) for variant, least in rows]
        plans[-1] = replace(plans[-1], problem=Problem(16, 16, 16))
        return [step.workspace for each in level_workspaces(list(map(make_chain, plans))) for step in each.steps]

    assert level((CUBLAS, WORKSPACE), (kernel, 5), (kernel, 1 << 30)) == [1 << 30, 5, 1 << 30]
    assert level((CUBLAS, WORKSPACE), (kernel, 5)) == [WORKSPACE, 5]
    assert level((without, 0), (kernel, 1 << 30)) == [0, 1 << 30]


def test_a_device_is_named_without_its_memory():
    assert shorten_device("NVIDIA H100 80GB HBM3") == "NVIDIA H100"
    for name in ("NVIDIA A100-SXM4-40GB", "NVIDIA GeForce RTX 5070"):
        assert shorten_device(name) == name
