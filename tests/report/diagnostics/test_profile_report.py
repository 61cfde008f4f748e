"""The counters of a profile, and the sentence on what bounds a kernel."""

import pytest

from gemmbench.analysis.ncu import Counters
from gemmbench.errors import StoreError
from gemmbench.planning.problems import Problem
from gemmbench.report.diagnostics.profile_report import (
    ABSENT,
    ProfiledKernel,
    explain_bound,
    export_counters,
    find_no_eligible,
    rank_stalls,
    report_counters,
)
from gemmbench.report.export import encode_json


def counters(stalls=None, **values):
    named = {name.replace("_", " "): float(value) for name, value in values.items()}
    return Counters("gemm", "(32, 32, 1)", "(256, 1, 1)", named, stalls or {})


def cells(found):
    (table,) = report_counters([found]).tables
    return dict(table.cells)


def test_counters_are_shown_in_readable_units():
    shown = cells(
        counters(
            {"selected": 1.0, "long_scoreboard": 2.0, "barrier": 1.0, "not_selected": 4.0, "wait": 0.0},
            duration=2.6845e-3,
            clock=1.98e9,
            fma=91.25,
            registers=128,
            ffma=9e8,
            threads=1e9,
            load_conflicts=1234567,
            load_wavefronts=12345670,
            store_conflicts=0,
            occupancy=24.7,
        )
    )
    assert shown["duration"] == "2.684 ms" or shown["duration"] == "2.685 ms"
    assert (shown["SM clock"], shown["FMA pipe"], shown["registers per thread"]) == ("1.980 GHz", "91.25 %", "128")
    assert shown["FFMA of thread instructions"] == "90.00 %"
    assert shown["bank conflicts, loads"] == "1,234,567 (10.00 % of its wavefronts)"
    assert (shown["bank conflicts, stores"], shown["achieved occupancy"]) == ("0", "24.70 %")
    assert shown["main stalls"] == "long_scoreboard 25 %, barrier 12 %"


def test_a_cell_may_follow_from_other_counters():
    assert cells(counters(eligible=43.95))["No Eligible"] == "56.05 %"  # the rest of the cycles with an issue
    # what tells coalesced loads from strided ones
    assert cells(counters(global_loads=1000, global_sectors=4000))["sectors per global load"] == "4.000"


def test_missing_counters_are_marked_and_the_fp64_pipe_is_shown_if_it_is_used():
    shown = cells(counters(duration=1e-3))
    assert shown.pop("duration") == "1.000 ms"
    assert set(shown.values()) == {ABSENT} and len(shown) >= 12
    assert "FP64 pipe" not in cells(counters(fp64=0.0))
    shown = cells(counters(fp64=88.0, dfma=8, threads=10))
    assert (shown["FP64 pipe"], shown["DFMA of thread instructions"]) == ("88.00 %", "80.00 %")


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            counters(fma=91, issue=96, shared=70, dram=5, ffma=93, threads=100),
            "Bound by FFMA issue: the FMA pipe is busy 91 % of the time, and 96 % of the issue slots are taken "
            "(93 % of the instructions are FFMA).",
        ),
        (
            counters(fp64=95, issue=30, dfma=85, threads=100),
            "Bound by DFMA issue: the FP64 pipe is busy 95 % of the time, and 30 % of the issue slots are taken "
            "(85 % of the instructions are DFMA).",
        ),
        (
            counters(tensor=88, issue=20, shared=85, l1=86),
            "Bound by the tensor pipe: it is busy 88 % of the time.",
        ),
        (
            counters(fma=50, issue=60, l1=90, shared=89, load_conflicts=1000, store_conflicts=24),
            "Bound by shared memory: its data path is busy 89 % of the time, with 1,024 bank conflicts.",
        ),
        (counters(fma=20, issue=40, l1=93, shared=0, l2=40), "Bound by L1: it is busy 93 % of the time."),
        (counters(fma=20, dram=75, l2=60), "Mostly bound by DRAM: it is busy 75 % of the time."),
        (counters(fma=20, dram=30, l2=85), "Bound by L2: it is busy 85 % of the time."),
        (
            counters(fma=45, issue=92, l1=50),
            "Bound by issue slots: they are taken 92 % of the time, although the FMA pipe is busy only 45 % "
            "of the time: other "
            "instructions take the slots.",
        ),
        (
            counters({"long_scoreboard": 3, "selected": 1, "not_selected": 6}, fma=30, dram=40, active=95),
            "Bound by latency: no unit is busy more than 40 % of the time. The main stall is long_scoreboard "
            "(warps wait for data from global memory, L2 or L1), 30 % of a warp's time.",
        ),
        (counters(fma=30), "Bound by latency: no unit is busy more than 30 % of the time."),
        (
            counters({"wait": 1}, fma=30, active=12),
            "Bound by idle multiprocessors: they work 12 % of the time, because a grid of (32, 32, 1) blocks, or its "
            "last wave, is too small.",
        ),
        (counters(duration=1), "The bound is unknown, because none of the units was counted."),
    ],
    ids=str,
)
def test_the_sentence_on_the_bound(found, sentence):
    assert explain_bound(found) == sentence


def test_shares_of_a_warps_time_sum_to_one_hundred():
    found = rank_stalls({"wait": 1.0, "selected": 1.0, "barrier": 2.0, "drain": 0.0})
    assert found[0] == ("barrier", 50.0) and sum(share for _, share in found) == 100
    assert rank_stalls({}) == []


def test_an_exported_profile_is_found_by_its_kernel_and_device(tmp_path, make_plan):
    plan = make_plan("tiled", Problem(64, 64, 64), {"TILE": 16})
    exported = export_counters(plan, [counters(eligible=40.0)], "Fake GPU")
    (tmp_path / "tiled-64.profile.json").write_text(encode_json(exported))
    kernel = ProfiledKernel("tiled", {}, "64", "nn", "f32")
    assert find_no_eligible(tmp_path, "Fake GPU", kernel) == 60.0
    assert find_no_eligible(tmp_path, "Fake GPU", ProfiledKernel("tiled", {"TILE": -1}, "64", "nn", "f32")) is None
    assert find_no_eligible(tmp_path, "Fake GPU", ProfiledKernel("tiled", {}, "128", "nn", "f32")) is None


def test_a_file_that_is_no_profile_is_named(tmp_path):
    (tmp_path / "a.profile.json").write_text("[1]")
    with pytest.raises(StoreError, match=r"a\.profile\.json: not a profile; remove it"):
        find_no_eligible(tmp_path, "Fake GPU", ProfiledKernel("tiled", {}, "64", "nn", "f32"))
