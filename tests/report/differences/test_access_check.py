"""What a check of accesses says."""

from dataclasses import replace

import pytest

from gemmbench.analysis.access_changes import AccessChange
from gemmbench.analysis.accesses import JOINED, WRITTEN, Access, Cost
from gemmbench.report.differences.access_check import (
    AccessCheck,
    FailedKernel,
    LineVerdict,
    annotate_accesses,
    judge_lines,
    report_access_check,
)

LOAD = Access("tiled.cu", 69, "A", False, False, 4, 128, False, 0, {WRITTEN: Cost(16_800_000, 67_200_000)})
STORE = Access("tiled.cu", 70, "As", True, True, 4, 128, False, 1, {JOINED: Cost(100, 0, 0, 100, 0)})
PATHS = {("tiled.cu", 69): "cuda/tiled.cu", ("tiled.cu", 70): "cuda/tiled.cu"}


def costing(access, requests, units):
    cost = Cost(requests, units, 0, 0, 0) if not access.is_shared else Cost(requests, 0, 0, units, 0)
    return replace(access, costs={JOINED if access.is_shared else WRITTEN: cost})


def say(earlier, later, is_more=True):
    (verdict,) = judge_lines({"": [AccessChange(earlier, later, is_more)]}, PATHS)
    return verdict.sentence


@pytest.mark.parametrize(
    ("later", "said"),
    [
        (costing(LOAD, 16_800_000, 268_800_000), "tiled.cu:69 load of A: 4 -> 16 sectors per request"),
        (costing(LOAD, 33_600_000, 134_400_000), "tiled.cu:69 load of A: 16.8M -> 33.6M requests of 4 sectors"),
        (
            costing(LOAD, 33_600_000, 268_800_000),
            "tiled.cu:69 load of A: 4 -> 8 sectors per request, 16.8M -> 33.6M requests",
        ),
        (costing(LOAD, 16_800_001, 67_200_004), "tiled.cu:69 load of A: 67,200,000 -> 67,200,004 sectors"),
    ],
)
def test_a_line_that_asks_for_more_is_one_sentence(later, said):
    assert say(LOAD, later) == said


def test_shared_memory_is_told_in_wavefronts_and_a_new_line_as_new():
    assert say(STORE, costing(STORE, 100, 800)) == "tiled.cu:70 store to As: 1 -> 8 wavefronts per request"
    assert say(None, LOAD) == "tiled.cu:69 load of A: new, 16.8M requests of 4 sectors"


def test_problems_are_named_unless_a_line_changed_in_all():
    change = AccessChange(LOAD, costing(LOAD, 16_800_000, 268_800_000), True)
    some = judge_lines({"nn": [change], "nt": [change], "tt": []}, PATHS)
    every = judge_lines({"nn": [change], "nt": [change]}, PATHS)
    assert [each.problems for each in (*some, *every)] == ["nn, nt", ""]


def test_lines_that_are_gone_or_cost_as_much_are_not_told():
    same = AccessChange(LOAD, costing(LOAD, 4_200_000, 67_200_000), False)
    assert judge_lines({"": [AccessChange(LOAD, None, False), same]}, PATHS) == []


def test_the_closing_line_counts_kernels_and_the_report_has_their_reasons():
    worse = LineVerdict("cuda/tiled.cu", 69, "tiled.cu:69 load of A: 4 -> 16 sectors per request", True)
    better = replace(worse, text="tiled.cu:71 load of B: 16 -> 4 sectors per request", is_more=False)
    check = AccessCheck(
        "main (1abb95a)",
        {"tiled": [better, worse], "naive": [], "naive_rows": [better]},
        [FailedKernel("wpt", "cuda/wpt.cu", "no such variable")],
        ["gemm_v2"],
        ["mine"],
        ["old"],
        {"wmma": "needs a GPU"},
    )
    assert check.closing_line == (
        "accesses against main (1abb95a): 1 worse, 1 broken, 1 better, 1 the same, 1 unchanged, 1 new, 1 removed, "
        "1 not counted"
    )
    assert list(report_access_check(check).footer) == [
        f"asks for more: {worse.text}",
        "broken: wpt: no such variable",
        *[f"asks for less: {better.text}"] * 2,
        "new: mine",
        "removed: old",
        "not counted: wmma: needs a GPU",
    ]
    assert annotate_accesses(check) == [
        f"::error file=cuda/tiled.cu,line=69,title=more than in main (1abb95a)::{worse.text}",
        "::error file=cuda/wpt.cu,line=1,title=wpt cannot be counted::no such variable",
    ]
    assert not check.passes and AccessCheck("main", {"naive": []}).passes
