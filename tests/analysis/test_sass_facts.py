"""What a loop costs, counted by hand in a listing of nvcc 13.0, and the limits that kernels of cuda/ keep."""

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


@pytest.fixture
def facts(listing):
    """The loop of warptile.cu, 4 k of a 16 x 32 warp tile."""
    return LoopFacts(find_hottest_loop(listing("warptile")))


@pytest.fixture
def loop_of(assemble):
    """The facts of a loop of these instructions and a branch back."""
    return lambda *lines: LoopFacts(find_hottest_loop(assemble(*lines, "@P0 BRA 0x0")))


def ffma(destination, *sources):
    return f"FFMA R{destination}, " + ", ".join(f"R{source}" for source in sources)


def test_what_a_loop_costs(facts):
    assert {kind: count for kind, count in facts.mix.items() if count} == {
        "FFMA": 64,
        "shared loads": 8,
        "global loads": 2,
        "shared stores": 2,
        "integer and address": 25,
        "control and barrier": 3,
    }
    assert facts.instructions == 104 == sum(facts.mix.values())
    assert (facts.loop.code_bytes, facts.reuse) == (104 * 16, 42)
    assert facts.load_widths == {"LDS.128": 8}
    assert facts.wavefronts == 8 * 4
    assert facts.load_distances == [7, 8, 10, 13, 15, 19, 34, 49]
    assert (facts.load_distance, facts.median_distance) == (7, 13)


EIGHT = (
    "FFMA R51, R4, R8, R51",  # 4 and 8 of the even bank, 51: a conflict
    "FFMA R42, R8.reuse, R5, R42",  # 8 and 42: a conflict
    "FFMA R47, R8.reuse, R6, R47",  # 8 is kept
    "FFMA R8, R8, R7, R58",  # and here
    "FFMA R56, R4, R12, R56",  # three of the even bank
    "FFMA R58, R12.reuse, R5, R61",  # 5 and 61 of the odd bank, at once with the one before
    "FFMA R59, R12.reuse, R6, R59",
    "FFMA R12, R12, R7, R36",
)


def test_conflicts_of_register_banks_cost_cycles_that_only_the_estimate_counts(loop_of):
    found = loop_of(*EIGHT)
    assert (found.conflicts, found.reuse, found.conflict_cycles) == (4, 4, 1 + 1 + 2 + 0)
    assert (found.bound(128), found.estimate(128)) == (8 / 9, 8 / 13)
    assert found.bound(64) == found.estimate(64) == 1.0  # half the lanes hide them behind the math
    assert loop_of(EIGHT[0], *["IADD3 R9, R9, 0x1, RZ"] * 6).bound(64) == 2 / 8


@pytest.mark.parametrize(
    ("lines", "reads"),
    [
        (EIGHT, [[2, 1], [2, 1], [1, 1], [1, 1], [3, 0], [1, 2], [1, 1], [1, 1]]),
        # an operand stays over an instruction that is no math, and over the branch back
        (["FFMA R1, R2.reuse, R3, R1", "LDS R9, [R2]", "FFMA R5, R2.reuse, R3, R5"], [[0, 2], [0, 2]]),
        (["FFMA R1, R2.reuse, R3, R1", "FFMA R5, R3, R2, R5"], [[1, 2], [1, 2]]),  # it is kept in its slot only
        (["FFMA R2, R1, R1, R2"], [[1, 1]]),  # one register in two slots is read once
    ],
)
def test_reads_of_register_banks_are_counted(loop_of, lines, reads):
    assert loop_of(*lines).reads == reads


@pytest.mark.parametrize(
    ("sources", "cycles"),
    [
        ([("0.reuse", 1, 2)], 1.0),  # one of each bank
        ([("0.reuse", 4, 2)], 2.0),  # both of one
        ([(4, 6, 1)], 2.0),
        ([(4, 1, 2)], 2.0),
        ([(4, 6, 2)], 3.0),
        ([("0.reuse", 4, 2), ("0.reuse", 5, 3)], 1.0),  # conflicts in turn
        ([("0.reuse", 4, 2)] * 2 + [("0.reuse", 5, 3)] * 2, 1.5),
        ([("0.reuse", 4, 2)] * 3 + [("0.reuse", 5, 3)] * 3, 1.67),
        ([("0.reuse", 4, 2)] * 8 + [("0.reuse", 5, 3)] * 8, 1.88),
        ([(4, 6, 2), (5, 7, 3)], 1.5),
        ([(4, 6, 2)] * 2 + [(5, 7, 3)] * 2, 2.0),
        ([(4, 6, 1), (5, 7, 2)], 1.5),
        ([("0.reuse", 4, 2)] + [("0.reuse", 5, 2)] * 7, 1.13),
    ],
)
def test_cycles_of_an_ffma_are_those_an_h200_took(loop_of, sources, cycles):
    found = loop_of(*(ffma(c, a, b, c) for a, b, c in sources))
    count, branch = len(sources), 1
    assert (count / found.estimate(128) - branch) / count == pytest.approx(cycles, abs=0.01)


def test_spills_are_seen(loop_of):
    assert loop_of("LDL R4, [R1]", "FFMA R5, R4, R4, R5", "STL [R1], R5").mix["spills"] == 2


def test_a_load_is_waited_for_until_its_use_also_behind_the_branch_back_unless_it_is_overwritten(loop_of):
    assert loop_of("FFMA R8, R4, R4, R8", "LDS R4, [R1]").load_distances == [2]
    assert loop_of("LDS.64 R4, [R1]", "MOV R4, R2", "FFMA R8, R4, R4, R8", "MOV R9, R5").load_distances == [3]
    assert loop_of("LDS R4, [R1]", "MOV R4, R2", "FFMA R8, R4, R4, R8").load_distance is None


@pytest.fixture
def faults(make_text_plan):
    """What is broken of these limits, for parameters T = 16 and sm_90."""

    def check(found, *texts):
        plan = make_text_plan("")
        limits = tuple(parse(text, (*SASS_NAMES, "T")) for text in texts)
        return find_broken_limits(replace(plan, variant=replace(plan.variant, sass=limits)), found, 90)

    return check


def test_expressions_may_read_all_that_is_counted(facts, make_text_plan):
    assert sorted(limit_names(facts, make_text_plan(""), 90)) == sorted((*SASS_NAMES, "T"))


def test_only_a_broken_limit_says_what_it_found(facts, faults):
    assert faults(facts, "100 * ffma >= 61 * instructions", "spills == 0", "sm == 90", "BYTES * T == 64") == []
    assert faults(facts, "100 * ffma >= 92 * instructions", "load_distance > 60 or T < 16") == [
        "100 * ffma >= 92 * instructions: ffma is 64, instructions is 104",
        "load_distance > 60 or T < 16: load_distance is 7, T is 16",
    ]


def test_a_limit_that_has_no_value_is_broken(facts, faults, loop_of):
    assert faults(facts, "ffma / 5 == 1") == ["ffma / 5 == 1: 64 / 5 leaves a remainder of 4"]
    assert faults(None, "spills == 0") == ["spills == 0: no loop has math"]
    (fault,) = faults(loop_of("FFMA R1, R2, R3, R1"), "load_distance > 60")
    assert fault == "load_distance > 60: there is no load_distance, because the loop does not use shared memory"


CATALOG = Catalog([Path(__file__).resolve().parents[2] / "cuda"])


@pytest.mark.parametrize("name", ["sgemm_cp_async", "sgemm_tma", "wgmma_hybrid"])  # `make arches` checks all
def test_a_kernel_of_cuda_keeps_its_limits(name, warm_compiler):
    variant = CATALOG.get(name)
    assert variant.sass
    try:
        toolkit.find_cuobjdump()
    except DeviceError as fault:
        pytest.skip(str(fault))
    sm = int((variant.arch or (str(max(variant.min_sm, 90)),))[0].rstrip("af"))
    target = Target("cuda", sm, 132, 227 << 10, 50 << 20, 1 << 36)
    problem = Problem(4096, 4096, 4096, variant.layouts[0], variant.precisions[0])
    chosen = [(variant, list_configurations(variant, {}))]
    (plan,) = make_plans([problem], chosen, "cuda", {"cuda": target}, lambda *_: "")
    code, names = parse_kernels(warm_compiler.sass(plan)), warm_compiler.compile(plan).build.symbols or plan.symbols
    loops = filter(None, (find_hottest_loop(code[name]) for name in names))
    hot = max(loops, key=lambda loop: (loop.on_tensor_cores, loop.math), default=None)
    assert find_broken_limits(plan, LoopFacts(hot) if hot else None, sm) == []
