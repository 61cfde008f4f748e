"""The plans of one kernel, for every command that takes one."""

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning.plans.plan import Plan
from gemmbench.session.single_kernel import KernelRequest, plan_kernel, plan_one_launch, to_words


def plan(request, machine):
    return plan_kernel(request, request.find_variant(), machine)


def test_every_size_and_parameter_is_planned(machine):
    plans = plan(KernelRequest("tiled", "16,24", params=("TILE=8,16",)), machine)
    assert [(item.problem.M, str(item.config)) for item in plans] == [
        (16, "TILE=8"),
        (16, "TILE=16"),
        (24, "TILE=8"),
        (24, "TILE=16"),
    ]


def test_precision_and_layout_are_by_default_the_first_of_the_variant(machine):
    (item,) = plan(KernelRequest("tiled"), machine)
    variant = item.variant
    assert (item.problem.precision_name, item.problem.layout) == (variant.precisions[0], variant.layouts[0])
    assert item.problem.M == 4096


def test_the_first_choice_of_a_request_may_be_overridden(machine):
    items = plan(KernelRequest("tiled", "8", "f64,f16", "nt,tn"), machine)
    assert [(item.problem.precision_name, item.problem.layout) for item in items] == [
        ("f64", "nt"),
        ("f64", "tn"),
        ("f16", "nt"),
        ("f16", "tn"),
    ]


def test_one_launch_is_one_plan(machine):
    assert isinstance(plan_one_launch(KernelRequest("tiled", "8"), machine), Plan)
    with pytest.raises(UsageError, match="profile takes one launch, but there are 2"):
        plan_one_launch(KernelRequest("tiled", "8,9"), machine)


def test_what_has_no_value_is_no_word():
    assert to_words([("--seed", None), ("--sizes", 8), ("--param", "X=1")]) == ("--sizes", "8", "--param", "X=1")
