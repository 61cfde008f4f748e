"""Limits on machine code: their words, and that the kernels of cuda/ which have some keep them."""

from dataclasses import replace
from pathlib import Path

import pytest

from gemmbench.analysis import toolkit
from gemmbench.analysis.sass_facts import LoopFacts, find_broken_limits, limit_names
from gemmbench.analysis.sass_loops import find_hottest_loop, parse_kernels
from gemmbench.errors import DeviceError
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.expressions import SASS_NAMES, parse
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.problems import Problem

CUDA = Path(__file__).resolve().parents[3] / "cuda"
CATALOG = Catalog([CUDA])
LIMITED = ("sgemm_cp_async", "sgemm_tma", "wgmma_hybrid")  # `make arches` checks all, in each layout


@pytest.fixture
def facts(listing):
    return LoopFacts(find_hottest_loop(listing("warptile")))


@pytest.fixture
def faults(make_text_plan):
    """What is broken of these limits, for parameters T = 16 and sm_90."""

    def check(facts, *texts):
        plan = make_text_plan("")
        limits = tuple(parse(text, (*SASS_NAMES, "T")) for text in texts)
        return find_broken_limits(replace(plan, variant=replace(plan.variant, sass=limits)), facts, 90)

    return check


def test_expressions_may_read_all_that_is_counted(facts, make_text_plan):
    assert sorted(limit_names(facts, make_text_plan(""), 90)) == sorted((*SASS_NAMES, "T"))


def test_limits_that_hold_say_nothing(facts, faults):
    assert faults(facts, "100 * ffma >= 61 * instructions", "spills == 0", "sm == 90", "BYTES * T == 64") == []


def test_a_broken_limit_says_what_it_found(facts, faults):
    assert faults(facts, "100 * ffma >= 92 * instructions", "load_distance > 60 or T < 16") == [
        "100 * ffma >= 92 * instructions: ffma is 64, instructions is 104",
        "load_distance > 60 or T < 16: load_distance is 7, T is 16",
    ]


def test_a_limit_that_has_no_value_is_broken(facts, faults):
    assert faults(facts, "ffma / 5 == 1") == ["ffma / 5 == 1: 64 / 5 leaves a remainder of 4"]
    assert faults(None, "spills == 0") == ["spills == 0: no loop has math"]
    only_math = LoopFacts(
        find_hottest_loop(parse_kernels("Function : k\n/*0000*/ FFMA R1, R2, R3, R1 ;\n/*0010*/ @P0 BRA 0x0 ;\n")["k"])
    )
    (fault,) = faults(only_math, "load_distance > 60")
    assert fault == "load_distance > 60: there is no load_distance, because the loop uses nothing from shared memory"


@pytest.mark.parametrize("name", LIMITED)
def test_a_kernel_of_cuda_keeps_its_limits(name, warm_compiler):
    variant = CATALOG.get(name)
    assert variant.sass
    try:
        toolkit.find_cuobjdump()
    except DeviceError as fault:
        pytest.skip(str(fault))
    sm = int((variant.arch or (str(max(variant.min_sm, 90)),))[0].rstrip("af"))
    target = Target("cuda", sm, 132, 227 << 10, 50 << 20, 1 << 36)
    problems = [Problem(4096, 4096, 4096, variant.layouts[0], variant.precisions[0])]
    chosen = [(variant, list_configurations(variant, {}))]
    (plan,) = make_plans(problems, chosen, "cuda", {"cuda": target}, lambda *_: "")
    code, names = parse_kernels(warm_compiler.sass(plan)), warm_compiler.compile(plan).build.symbols or plan.symbols
    loops = filter(None, (find_hottest_loop(code[name]) for name in names))
    hot = max(loops, key=lambda loop: (loop.on_tensor_cores, loop.math), default=None)
    assert find_broken_limits(plan, LoopFacts(hot) if hot else None, sm) == []
