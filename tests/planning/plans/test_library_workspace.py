"""How much workspace libraries may use."""

from dataclasses import replace

from gemmbench.backends.cuda.library_variants import CUBLAS, WORKSPACE
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Config, Plan, level_workspaces, make_chain
from gemmbench.planning.problems import Problem

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
