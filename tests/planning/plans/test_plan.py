"""Chains, what one row measures, and how much workspace libraries may use."""

from dataclasses import replace

from gemmbench.backends.cuda.library_variants import CUBLAS, WORKSPACE
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.networks import Network
from gemmbench.planning.plans.plan import Config, Plan, Skip, level_workspaces, list_plans, make_chain
from gemmbench.planning.problems import Problem

CUBE = Problem(8, 8, 8)


def test_a_gemm_is_a_chain_of_one_step(make_plan):
    plan = make_plan("tiled", CUBE, {"T": 8})
    chain = make_chain(plan)
    assert (chain.name, chain.config, chain.steps, chain.reason) == ("tiled", plan.config, (plan,), "")
    assert (chain.problem_or_network, chain.launches) == (CUBE, ["tiled"])
    assert chain.kernel_key == (CUBE, "tiled", ("T", 8))


def test_a_skip_is_a_chain_without_steps(make_variant):
    chain = make_chain(Skip(CUBE, make_variant("tiled"), Config(), "cuda", "no GPU"))
    assert (chain.steps, chain.reason, chain.device) == ((), "no GPU", "cuda")


def test_a_chain_with_other_scalars_binds_the_same_code(make_plan):
    chain = make_chain(make_plan("tiled", CUBE))
    (step,) = chain.with_scalars(2.0, -1.0).steps
    assert (step.problem.alpha, step.problem.beta) == (2.0, -1.0)
    assert replace(step, problem=CUBE) == chain.steps[0]


def test_a_network_is_named_by_its_variant_and_whether_it_is_a_graph(make_plan):
    network = Network((4, 3), ("relu",), 2)
    gemm, helper = make_plan("tiled", network.layer(0)), make_plan("activation", network.layer(0))
    chain = replace(make_chain(gemm), network=network, steps=(gemm, helper), graph=True)
    assert (chain.name, chain.launches) == ("tiled+graph", ["tiled", "activation"])
    assert chain.problem_or_network == network


def test_plans_are_compiled_once(make_plan):
    plan = make_plan("tiled", CUBE)
    assert list_plans([make_chain(plan), make_chain(plan)]) == [plan]


KERNEL = Variant("kernel", "", 1, "kernel", ("cuda",), ("f32",), ("nn",))
WITHOUT = replace(KERNEL, name="openblas", kind="library")


def chain(variant, workspace, size=8):
    return make_chain(Plan(Problem(size, size, size), variant, Config(), "cuda", "", None, workspace=workspace))


def level(*chains):
    return [step.workspace for each in level_workspaces(chains) for step in each.steps]


def test_a_library_may_use_as_much_as_the_largest_kernel_of_all_problems():
    assert level(chain(CUBLAS, WORKSPACE), chain(KERNEL, 1 << 30, 16), chain(KERNEL, 5)) == [1 << 30, 1 << 30, 5]


def test_a_library_has_its_usual_workspace_at_least():
    assert level(chain(CUBLAS, WORKSPACE), chain(KERNEL, 5)) == [WORKSPACE, 5]


def test_a_library_without_a_workspace_gets_none():
    assert level(chain(WITHOUT, 0), chain(KERNEL, 1 << 30)) == [0, 1 << 30]
