"""What the samples mean, computed by hand: kernels at 64 cubed, and whole jobs.

The job of the digits: B 1 MB, A 2 MB, C 4 MB; pinned 3 ms in, 8 ms computing, 4 ms out.
"""

import math

import pytest

from gemmbench.bench.record import TransferRecord
from gemmbench.bench.timing.stats import WIDENING
from gemmbench.planning.problems import Problem
from gemmbench.report import comparison as comparison_module
from gemmbench.report.columns.transfer_columns import COLUMNS, TABLE
from gemmbench.report.comparison import PartTimes, compare_rows
from gemmbench.report.export import export_kernels, export_transfers
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import complete_transfers, read_results
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.table import format_reports
from gemmbench.report.tables.kernel_tables import report_results, report_transfers
from gemmbench.report.tables.view import View
from gemmbench.report.terminal import draw_report

MS = 1e-3
# The columns of the exports are a promise: new ones may only follow the last.
KERNEL_COLUMNS = (
    "run device_name device variant config count M N K layout precision alpha beta phase status time_s time_low_s "
    "time_high_s time_min_s time_q1_s time_q3_s rounds outliers launches gflops baseline percent_of_baseline "
    "percent_low percent_high percent_of_peak error_units clock_hz cache sets data seed stopped grid block "
    "registers spills shared_static shared_dynamic reason"
).split()


@pytest.fixture
def rows(compare):
    """The rows of a run of one problem, by variant."""

    def make(*records, **changed):
        (problem,) = compare(*records, **changed).problems
        return {row.record.variant: row for row in problem.rows}

    return make


def test_gflops_are_two_m_n_k_over_the_median(rows, paired):
    row = rows(paired("naive", 1 * MS, 2 * MS, 4 * MS))["naive"]
    assert row.time.value == 2 * MS
    assert row.gflops == pytest.approx(2 * 64**3 / 2e-3 / 1e9) == pytest.approx(0.262144)


def test_percent_is_the_paired_speed_in_percent_of_the_baseline_s(rows, paired, steady):
    found = rows(steady("cublas"), paired("naive", *(5 * MS * 2**n for n in (-2, -1, 0, 1, 2))))
    percent, reach = found["naive"].percent_of_baseline, 2 ** (WIDENING * 2.7764451 * math.sqrt(2.5 / 5))  # Student's t
    assert (percent.value, percent.low, percent.high) == pytest.approx((20, 20 / reach, 20 * reach))
    assert found["cublas"].percent_of_baseline.value == 100 and not found["cublas"].percent_of_baseline.known


@pytest.mark.parametrize("other", [{"batch": 2}, {"batch_key": "of a session that gave it the same number"}])
def test_percent_uses_the_baseline_of_its_own_batch(compare, steady, other):
    comparison = compare(
        steady("cublas"), steady("naive", 2), steady("cublas", 8, **other), steady("tiled", 8, **other)
    )
    found = {row.record.variant: row.percent_of_baseline.value for row in comparison.rows}
    assert found == pytest.approx({"naive": 50, "tiled": 100, "cublas": 100})
    assert len(comparison.rows) == 3


def test_the_last_of_rows_measured_again_is_shown(rows, paired, steady):
    old, new = paired("naive", 1 * MS, stopped="interrupted"), steady("naive", 2)
    assert rows(old, new)["naive"].record is new


@pytest.mark.parametrize("status", ["wrong", "failed"])
def test_a_wrong_baseline_is_not_used_and_one_on_another_device_has_no_interval(rows, steady, status):
    assert math.isnan(rows(steady("cublas", status=status), steady("naive"))["naive"].percent_of_baseline.value)
    percent = rows(steady("cublas"), steady("host", 2, backend="cpu"))["host"].percent_of_baseline
    assert percent.value == pytest.approx(50) and not percent.known


@pytest.mark.parametrize(
    ("changed", "percent"),
    [
        ({}, 100 * 0.524288e9 / 1e12),
        ({"clocks_hz": [0.5e9, 0.5e9]}, 2 * 100 * 0.524288e9 / 1e12),
        ({"clocks_hz": []}, math.nan),
        ({"backend": "cpu"}, math.nan),
        ({"precision_name": "tf32"}, math.nan),
    ],
)
def test_the_peak_is_at_the_measured_clock_and_needs_one_a_rate_and_the_device(rows, paired, changed, percent):
    found = rows(paired("naive", MS, **changed))["naive"].percent_of_peak
    assert found == pytest.approx(percent, nan_ok=True)


def test_a_time_shorter_than_the_arithmetic_is_too_good_and_not_ranked(rows, paired):
    floor = 2 * 64**3 / 1e12  # 524 ns
    found = rows(paired("naive", 0.99 * floor), paired("tiled", 1.01 * floor))
    assert (found["naive"].too_good, found["naive"].ranked, found["naive"].status) == (True, False, "too good")
    assert (found["tiled"].too_good, found["tiled"].ranked, found["tiled"].status) == (False, True, "ok")
    unknown = rows(paired("naive", 1e-12), flops_per_cycle={}, bandwidth=0.0, clock_hz=0.0)
    assert not unknown["naive"].too_good


def test_a_time_shorter_than_the_memory_traffic_is_too_good_only_if_cold(rows, paired):
    floor = 4 * 3 * 64**2 / 1e9  # 49 us at 1 GB/s
    caches = {"cold": "cold", "partly": "partly cold", "hot": "hot"}
    fast = [paired(name, 0.99 * floor, cache=cache) for name, cache in caches.items()]
    found = rows(*fast, paired("slow", 1.01 * floor), bandwidth=1e9)
    assert {name for name, row in found.items() if row.too_good} == {"cold"}


def test_rows_are_in_ladder_order_with_the_fastest_configuration_first(compare, paired, make_record):
    tiled = {"order": 30.0}
    comparison = compare(
        paired("cublas", MS, order=100.0),
        paired("tiled", 3 * MS, config={"T": 8}, **tiled),
        make_record("tiled", config={"T": 64}, status="skipped", **tiled),
        paired("tiled", 2 * MS, config={"T": 16}, **tiled),
        paired("tiled", 1 * MS, config={"T": 32}, status="wrong", **tiled),
        paired("tiled", 2.5 * MS, config={"T": 16}, phase="final", **tiled),
        paired("naive", 9 * MS, order=10.0),
    )
    found = [(row.record.variant, row.record.configuration, row.record.phase) for row in comparison.rows]
    assert found[:4] == [
        ("naive", "", "sweep"),
        ("tiled", "T=16", "final"),
        ("tiled", "T=16", "sweep"),
        ("tiled", "T=8", "sweep"),
    ]
    assert {configuration for _, configuration, _ in found[4:6]} == {"T=64", "T=32"}
    assert found[6] == ("cublas", "", "sweep")


def test_problems_keep_their_order(compare, paired):
    other = paired("naive", MS, M=64, N=32, K=16, alpha=2.0, beta=0.5, layout="tn")
    assert [problem.title for problem in compare(paired("naive", MS, size=128), other).problems] == [
        "M = 128, N = 128, K = 128, nn, f32",
        "M = 64, N = 32, K = 16, tn, f32, alpha 2, beta 0.5",
    ]


def test_an_exported_row_is_in_seconds_and_empty_where_unknown(compare, paired, make_record):
    launch = {"config": {"T": 8, "U": 4}, "grid": [4, 4, 1], "block": [16, 16, 1]}
    ran = paired("naive", 1 * MS, 2 * MS, 2 * MS, 2 * MS, 4 * MS, **launch)
    timed, skipped = export_kernels(compare(ran, make_record("tiled", order=2.0, status="skipped", reason="no GPU")))
    for row in (timed, skipped):
        assert list(row)[: len(KERNEL_COLUMNS)] == KERNEL_COLUMNS
    reach = 2 ** (WIDENING * 2.7764451 * math.sqrt(0.5 / 5))  # Student's t
    expected = {
        "run": "20260101-120000-quick-abcd",
        "device_name": "Fake GPU",
        "config": "T=8 U=4",
        "M": 64,
        "status": "ok",
        "time_s": pytest.approx(2 * MS),
        "time_low_s": pytest.approx(2 * MS / reach),
        "time_high_s": pytest.approx(2 * MS * reach),
        "time_min_s": 1 * MS,
        "time_q1_s": 2 * MS,
        "time_q3_s": 2 * MS,
        "rounds": 10,
        "outliers": 4,
        "gflops": pytest.approx(0.262144),
        "percent_of_baseline": None,
        "percent_of_peak": pytest.approx(0.0262144),
        "error_units": 3.25,
        "clock_hz": 1e9,
        "grid": "4x4x1",
        "block": "16x16x1",
        "reason": "",
    }
    assert {name: timed[name] for name in expected} == expected
    assert (skipped["status"], skipped["reason"], skipped["rounds"]) == ("skipped", "no GPU", 0)
    empty = "time_s", "time_min_s", "gflops", "percent_of_baseline", "percent_of_peak", "clock_hz", "error_units"
    assert {skipped[name] for name in empty} == {None}


@pytest.fixture
def job():
    """A record of a 256 x 128 x 64 job; `totals` (one per mirrored pair) and `parts` in milliseconds."""

    def record(mode, *totals, parts=None, **changed):
        samples = [MS * total for total in totals for _ in range(2)]
        panels = {"panels": 4, "panel_rows": 64} if mode in ("panels", "overlapped") else {"panel_rows": 256}
        spent = [[MS * part] * len(samples) for part in parts] if parts else [[], [], []]
        good = {
            "variant": "naive",
            "order": 10,
            "config": {"BX": 16},
            "backend": "cuda",
            "status": "ok",
            "key": "key",
            "problem": Problem(256, 128, 64),
            "h2d_bytes": 3_000_000,
            "b_bytes": 1_000_000,
            "d2h_bytes": 4_000_000,
            "rounds": list(range(len(samples))),
            "blocks": [number // 2 for number in range(len(samples))],
            "launches": 1,
            "data": "uniform",
            "stopped": "rounds",
            **dict(zip(("h2d", "kernel", "d2h"), spent, strict=True)),
            "streams": 3 if mode == "overlapped" else 1,
            "gated": mode != "pageable",
        }
        return TransferRecord(mode=mode, samples=samples, **{**good, **panels, **changed})

    return record


@pytest.fixture
def four(job):
    """A kernel in all modes."""
    return [
        job("pageable", *[30] * 5, parts=(10, 8.1, 11.9)),
        job("pinned", *[15] * 5, parts=(3, 8, 4)),
        job("panels", *[16] * 5, parts=(3, 9, 4)),
        job("overlapped", *[12] * 5),
    ]


@pytest.fixture
def jobs(environment):
    """The comparison of a run of these jobs."""
    return lambda records: compare_rows(Run(environment, transfers=list(records)))


def modes(comparison):
    """The rows of jobs by their modes."""
    (problem,) = comparison.transfers
    return {row.record.mode: row for row in problem.rows}


def test_the_bound_is_the_longest_part_of_the_pinned_row_and_the_pipeline_adds_what_cannot_overlap(jobs, four, job):
    found = modes(jobs(four))
    assert {mode: row.bound for mode, row in found.items()} == pytest.approx(dict.fromkeys(found, 8 * MS))
    assert [row.percent_of_bound for row in found.values()] == pytest.approx([80 / 3, 160 / 3, 50, 200 / 3])
    # B in 1 ms, then the first of 4 panels in 0.5 ms before the 8 ms and the last out 1 ms after them
    assert found["overlapped"].pipeline_bound == pytest.approx(10.5 * MS)
    assert found["overlapped"].percent_of_pipeline_bound == pytest.approx(87.5)
    assert math.isnan(found["pinned"].pipeline_bound)
    four[2] = job("panels", *[16] * 5, parts=(3, 7, 4))
    assert modes(jobs(four))["overlapped"].pipeline_bound == pytest.approx(9.5 * MS)  # panels, where they are faster


@pytest.mark.parametrize(
    ("engines", "panels", "alone", "bound", "pipeline"),
    [
        (2, 4, (3, 8, 4), 8, 10.5),
        (2, 4, (3, 1, 8), 8, 1 + (2 + 1) / 4 + 8),
        (2, 4, (9, 1, 2), 9, 3 + 6 + (1 + 2) / 4),
        (1, 4, (3, 8, 4), 8, 10.5),
        (1, 4, (9, 1, 2), 11, 3 + 6 + 2),
        (2, 1, (3, 8, 4), 8, 15),  # one panel cannot overlap anything
    ],
)
def test_the_bounds_of_one_and_two_copy_engines(job, engines, panels, alone, bound, pipeline):
    record, parts = job("overlapped", copy_engines=engines, panels=panels), PartTimes(*alone)
    assert comparison_module.bound(record, parts) == pytest.approx(bound)
    assert comparison_module.pipeline_bound(record, parts) == pytest.approx(pipeline)


def test_the_speed_up_is_over_the_pageable_row_of_the_same_rounds(jobs, four):
    found = modes(jobs(four))
    assert [found[mode].speedup.value for mode in found] == pytest.approx([1, 2, 30 / 16, 2.5])
    assert (found["pinned"].speedup.low, found["pinned"].speedup.high) == pytest.approx((2, 2))


def test_there_is_no_bound_without_a_valid_pinned_row(jobs, four, job):
    wrong = job("pinned", status="wrong", reason="exact check: all of it")
    found = modes(jobs([four[0], wrong, *four[2:]]))
    assert math.isnan(found["overlapped"].bound) and math.isnan(found["overlapped"].percent_of_bound)
    assert found["overlapped"].total.value == pytest.approx(12 * MS)


def test_kernels_and_modes_have_an_order_and_the_last_of_jobs_measured_again_counts(jobs, four, job):
    late = [job(mode, 9, variant="cublas", order=1000) for mode in ("overlapped", "pinned")]
    (problem,) = jobs([*late, *four, job("overlapped", *[11] * 5)]).transfers
    found = [(row.record.variant, row.record.mode) for row in problem.rows]
    in_order = ["pageable", "pinned", "panels", "overlapped"]
    assert found == [("naive", mode) for mode in in_order] + [("cublas", "pinned"), ("cublas", "overlapped")]
    assert problem.rows[3].total.value == pytest.approx(11 * MS)


def test_the_cells_of_the_table(jobs, four):
    found = modes(jobs(four))
    cells = {mode: {column.heading: column.cell(row) for column in TABLE} for mode, row in found.items()}
    assert cells["pinned"] == {
        "kernel": "naive",
        "configuration": "BX=16",
        "mode": "pinned",
        "h2d (ms)": "3.000",
        "h2d (GB/s)": "1.000",
        "kernel (ms)": "8.000",
        "d2h (ms)": "4.000",
        "d2h (GB/s)": "1.000",
        "total (ms)": "15.00 +- 0",
        "% of bound": "53.33",
        "speed-up": "2.000 +- 0",
        "status": "ok",
    }
    assert cells["panels"]["mode"] == "pinned, 4 panels"
    assert cells["overlapped"]["mode"] == "overlapped, 4 panels, 3 streams"
    shown = [cells["overlapped"][name] for name in ("h2d (ms)", "d2h (GB/s)", "kernel (ms)", "total (ms)")]
    assert shown == ["-", "-", "-", "12.00 +- 0"]
    assert cells["pageable"]["speed-up"] == "1.00"


def test_a_note_describes_how_near_the_pipeline_comes(jobs, four):
    said = report_transfers(jobs(four)).format("simple")
    assert said.startswith("Transfers: M = 256, N = 128, K = 64, nn, f32\n\n")
    assert (
        "naive: the pipeline takes 12.00 ms. It reaches 66.67 % of the bound, 8.000 ms (kernel), "
        "and 87.50 % of the bound with B first and 4 panels, 10.50 ms.\n" in said
    )
    host = "The driver stages pageable copies, so the host takes part in them:"  # only with --wide and in documents
    wide = report_transfers(jobs(four), View(wide=True)).format("simple")
    assert [host in text for text in (said, wide, report_transfers(jobs(four)).format("github"))] == [False, True, True]
    colored = draw_report(report_transfers(jobs(four)), 200).plain
    assert "overlapped, 4 panels, 3 streams" in colored and "66.67" in colored


def test_with_one_copy_engine_both_copies_are_one_part(jobs, job):
    pair = [job("pinned", 12, parts=(9, 1, 2), copy_engines=1), job("overlapped", 11.5, copy_engines=1)]
    said = report_transfers(jobs(pair)).format("simple")
    assert "It reaches 95.65 % of the bound, 11.00 ms (h2d and d2h)," in said
    assert "the longer of kernel, and h2d and d2h together" in said


def test_reasons_and_a_warning_of_host_time_follow_the_table(jobs, four, job):
    skipped = {"status": "skipped", "reason": "a panel of 64 rows: require M % 128 == 0", "panels": 0, "panel_rows": 0}
    said = report_transfers(jobs([*four[:2], job("panels", **skipped), job("overlapped", **skipped)])).format("github")
    assert "- naive, overlapped: skipped: a panel of 64 rows: require M % 128 == 0\n" in said
    assert said.startswith("### Transfers: ") and "every row includes host time" not in said
    assert "every row includes host time" in report_transfers(jobs([job("pinned", 12, gated=False)])).format("github")


def test_a_run_without_transfers_has_no_section(jobs, compare):
    assert report_transfers(jobs([])).format("simple") == ""
    assert "Transfers" not in format_reports(report_results(compare()), "simple")
    assert export_transfers(compare()) == []


def test_the_exported_columns(jobs, four):
    flat = export_transfers(jobs(four))
    assert all(list(row) == [column.key for column in COLUMNS] for row in flat)
    pinned, overlapped = flat[1], flat[3]
    assert pinned["total_s"] == pytest.approx(15 * MS) and pinned["h2d_bytes_per_s"] == pytest.approx(1e9)
    assert (pinned["bound_s"], pinned["percent_of_bound"]) == (pytest.approx(8 * MS), pytest.approx(160 / 3))
    assert (overlapped["h2d_s"], overlapped["kernel_s"], overlapped["d2h_bytes_per_s"]) == (None, None, None)
    assert overlapped["percent_of_pipeline_bound"] == pytest.approx(87.5)
    assert overlapped["config"] == "BX=16" and overlapped["rounds"] == 10


def test_rows_survive_the_journal(environment, four, tmp_path, make_record):
    path = tmp_path / "run.jsonl"
    with Journal(Run(environment, path=path)) as journal:
        journal.write([make_record("naive", [1e-3])])
        for record in four:
            journal.write([record])
    run = read_results(path)
    assert run.transfers == four and [record.variant for record in run.records] == ["naive"]


def test_a_kernel_is_complete_with_four_rows_that_were_not_interrupted(four, job):
    assert complete_transfers(four) == {"key"}
    assert complete_transfers(four[:3]) == set()
    assert complete_transfers([*four[:3], job("overlapped", 12, stopped="interrupted")]) == set()


def compare_with_libraries(compare, steady, lt, cublas=1.0, **changed):
    """`sgemm` at 0.9 ms beside cuBLAS, whose best rival takes `lt` ms; the shares of the best library, by variant."""
    again = {"config": {"ALGO": 3}, "phase": "final", **changed}
    rows = [steady("sgemm", 0.9), steady("cublas", cublas, order=9.0)]
    rows += [steady("cublaslt", lt * 0.9, order=10.0, config={"ALGO": 5}), steady("cublaslt", lt, order=10.0, **again)]
    return {(row.record.variant, row.record.phase): row.percent_of_best for row in compare(*rows).rows}


@pytest.mark.parametrize(
    ("lt", "changed", "percent"),
    [
        (0.8, {}, 100 * 0.8 / 0.9),  # the rival, as it was measured after it was chosen
        (1.25, {}, 100 / 0.9),  # cuBLAS
        (0.8, {"status": "wrong"}, 100 * 0.72 / 0.9),
        (0.8, {"product_class": "bf16x6"}, 100 * 0.72 / 0.9),
    ],
)
def test_the_best_library_is_the_faster_of_two_that_are_right(compare, steady, lt, changed, percent):
    found = compare_with_libraries(compare, steady, lt, **changed)
    assert found["sgemm", "sweep"].value == pytest.approx(percent)
    if not changed:
        best = ("cublaslt", "final") if lt < 1 else ("cublas", "sweep")
        assert found[best].value == pytest.approx(100)


@pytest.mark.parametrize(("grouped", "best"), [(0.8, "cublas_grouped"), (1.25, "cublas")])
def test_one_call_for_all_groups_may_be_the_best_library(compare, steady, grouped, best):
    rows = compare(steady("mine", 0.9), steady("cublas", order=9.0), steady("cublas_grouped", grouped, order=9.5)).rows
    found = {row.record.variant: row.percent_of_best.value for row in rows}
    assert found[best] == pytest.approx(100) and found["mine"] == pytest.approx(100 * min(grouped, 1) / 0.9)


def test_without_a_row_of_cublaslt_no_library_is_the_best(compare, steady):
    rows = compare(steady("sgemm", 0.9), steady("cublas", 1.0, order=9.0)).rows
    assert all(math.isnan(row.percent_of_best.value) for row in rows)
