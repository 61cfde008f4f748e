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
from gemmbench.report.comparison import PartTimes, compare_rows, compare_transfers
from gemmbench.report.export import export_kernels, export_transfers
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import complete_transfers, read_results
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.table import format_reports
from gemmbench.report.tables.kernel_tables import report_results, report_transfers
from gemmbench.report.terminal import draw_report

MS = 1e-3
# The columns of the exports are a promise: new ones may only follow the last.
KERNEL_COLUMNS = (
    "run device_name device variant config M N K layout precision alpha beta phase status time_s time_low_s "
    "time_high_s time_min_s time_q1_s time_q3_s rounds outliers launches gflops baseline percent_of_baseline "
    "percent_low percent_high percent_of_peak error_units clock_hz cache sets data seed stopped grid block "
    "registers spills shared_static shared_dynamic reason"
).split()


def rows(run):
    (problem,) = compare_rows(run).problems
    return {row.record.variant: row for row in problem.rows}


def test_gflops_are_two_m_n_k_over_the_median(make_run, paired):
    row = rows(make_run(paired("naive", 1 * MS, 2 * MS, 4 * MS)))["naive"]
    assert row.time.value == 2 * MS
    assert row.gflops == pytest.approx(2 * 64**3 / 2e-3 / 1e9) == pytest.approx(0.262144)


def test_percent_is_the_paired_speed_in_percent_of_the_baseline_s(make_run, paired):
    found = rows(
        make_run(paired("cublas", *[1 * MS] * 5), paired("naive", *(5 * MS * 2**n for n in (-2, -1, 0, 1, 2))))
    )
    percent, reach = found["naive"].percent_of_baseline, 2 ** (WIDENING * 2.7764 * math.sqrt(2.5 / 5))  # Student's t
    assert (percent.value, percent.low, percent.high) == pytest.approx((20, 20 / reach, 20 * reach))
    assert found["cublas"].percent_of_baseline.value == 100 and not found["cublas"].percent_of_baseline.known


def test_percent_uses_the_baseline_of_its_own_batch(make_run, paired):
    records = [
        paired("cublas", *[1 * MS] * 5, batch=1),
        paired("naive", *[2 * MS] * 5, batch=1),
        paired("cublas", *[3 * MS] * 5, batch=2),
        paired("tiled", *[3 * MS] * 5, batch=2),
    ]
    found = rows(make_run(*records))
    assert found["naive"].percent_of_baseline.value == pytest.approx(50)
    assert found["tiled"].percent_of_baseline.value == pytest.approx(100)
    assert [row.record.variant for row in compare_rows(make_run(*records)).rows].count("cublas") == 1


def test_percent_never_mixes_batches_that_two_sessions_gave_the_same_number(make_run, paired):
    records = [
        paired("cublas", *[1 * MS] * 5, batch=1, batch_key="first"),
        paired("naive", *[2 * MS] * 5, batch=1, batch_key="first"),
        paired("cublas", *[8 * MS] * 5, batch=1, batch_key="resumed"),
        paired("tiled", *[8 * MS] * 5, batch=1, batch_key="resumed"),
    ]
    found = rows(make_run(*records))
    assert found["naive"].percent_of_baseline.value == pytest.approx(50)
    assert found["tiled"].percent_of_baseline.value == pytest.approx(100)


def test_the_last_of_rows_measured_again_is_shown(make_run, paired):
    old, new = paired("naive", 1 * MS, stopped="interrupted"), paired("naive", *[2 * MS] * 5)
    assert rows(make_run(old, new))["naive"].record is new


@pytest.mark.parametrize("status", ["wrong", "failed"])
def test_a_wrong_baseline_is_not_used(make_run, paired, status):
    found = rows(make_run(paired("cublas", *[MS] * 5, status=status), paired("naive", *[MS] * 5)))
    assert math.isnan(found["naive"].percent_of_baseline.value)


def test_a_baseline_on_another_device_has_no_interval(make_run, paired):
    found = rows(make_run(paired("cublas", *[MS] * 5), paired("host", *[2 * MS] * 5, backend="cpu")))
    assert found["host"].percent_of_baseline.value == pytest.approx(50) and not found["host"].percent_of_baseline.known


def test_the_peak_is_at_the_measured_clock(make_run, paired):
    found = rows(make_run(paired("naive", MS, clocks_hz=[0.5e9, 0.5e9]), paired("tiled", MS)))
    assert found["tiled"].percent_of_peak == pytest.approx(100 * 0.524288e9 / 1e12)
    assert found["naive"].percent_of_peak == pytest.approx(2 * 100 * 0.524288e9 / 1e12)


@pytest.mark.parametrize("changed", [{"clocks_hz": []}, {"backend": "cpu"}, {"precision_name": "tf32"}])
def test_peak_is_unknown_without_a_clock_a_rate_or_on_another_device(make_run, paired, changed):
    assert math.isnan(rows(make_run(paired("naive", MS, **changed)))["naive"].percent_of_peak)


def test_a_time_shorter_than_the_arithmetic_is_too_good_and_not_ranked(make_run, paired):
    floor = 2 * 64**3 / 1e12  # 524 ns
    found = rows(make_run(paired("naive", 0.99 * floor), paired("tiled", 1.01 * floor)))
    assert (found["naive"].too_good, found["naive"].ranked, found["naive"].status) == (True, False, "too good")
    assert (found["tiled"].too_good, found["tiled"].ranked, found["tiled"].status) == (False, True, "ok")


def test_a_time_shorter_than_the_memory_traffic_is_too_good_only_if_cold(make_run, paired):
    floor = 4 * 3 * 64**2 / 1e9  # 49 us at 1 GB/s
    found = rows(
        make_run(
            paired("cold", 0.99 * floor),
            paired("partly", 0.99 * floor, cache="partly cold"),
            paired("hot", 0.99 * floor, cache="hot"),
            paired("slow", 1.01 * floor),
            bandwidth=1e9,
        )
    )
    assert {name for name, row in found.items() if row.too_good} == {"cold"}


def test_nothing_is_too_good_for_a_device_whose_limits_are_unknown(make_run, paired):
    found = rows(make_run(paired("naive", 1e-12), flops_per_cycle={}, bandwidth=0.0, clock_hz=0.0))
    assert not found["naive"].too_good


def test_rows_are_in_ladder_order_with_the_fastest_configuration_first(make_run, paired, make_record):
    tiled = {"order": 30.0}
    run = make_run(
        paired("cublas", MS, order=100.0),
        paired("tiled", 3 * MS, config={"T": 8}, **tiled),
        make_record("tiled", config={"T": 64}, status="skipped", **tiled),
        paired("tiled", 2 * MS, config={"T": 16}, **tiled),
        paired("tiled", 1 * MS, config={"T": 32}, status="wrong", **tiled),
        paired("tiled", 2.5 * MS, config={"T": 16}, phase="final", **tiled),
        paired("naive", 9 * MS, order=10.0),
    )
    found = [(row.record.variant, row.record.configuration, row.record.phase) for row in compare_rows(run).rows]
    assert found[:4] == [
        ("naive", "", "sweep"),
        ("tiled", "T=16", "final"),
        ("tiled", "T=16", "sweep"),
        ("tiled", "T=8", "sweep"),
    ]
    assert {configuration for _, configuration, _ in found[4:6]} == {"T=64", "T=32"}
    assert found[6] == ("cublas", "", "sweep")


def test_problems_keep_their_order(make_run, paired):
    sizes = {"M": 64, "N": 32, "K": 16}
    run = make_run(paired("naive", MS, size=128), paired("naive", MS, **sizes, alpha=2.0, beta=0.5, layout="tn"))
    assert [problem.title for problem in compare_rows(run).problems] == [
        "M = 128, N = 128, K = 128, nn, f32",
        "M = 64, N = 32, K = 16, tn, f32, alpha 2, beta 0.5",
    ]


def test_the_columns_of_the_exports_stay_as_they_are(make_run, paired, make_record):
    run = make_run(paired("naive", MS), make_record("tiled", status="skipped", reason="no"))
    for row in export_kernels(compare_rows(run)):
        assert list(row)[: len(KERNEL_COLUMNS)] == KERNEL_COLUMNS


def test_an_exported_row_is_in_seconds_and_empty_where_unknown(make_run, paired, make_record):
    comparison = compare_rows(
        make_run(
            paired(
                "naive",
                1 * MS,
                2 * MS,
                2 * MS,
                2 * MS,
                4 * MS,
                config={"T": 8, "U": 4},
                grid=[4, 4, 1],
                block=[16, 16, 1],
            ),
            make_record("tiled", order=2.0, status="skipped", reason="no GPU"),
        )
    )
    timed, skipped = export_kernels(comparison)
    reach = 2 ** (WIDENING * 2.7764 * math.sqrt(0.5 / 5))  # Student's t
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
    for name in ("time_s", "time_min_s", "gflops", "percent_of_baseline", "percent_of_peak", "clock_hz", "error_units"):
        assert skipped[name] is None


ALONE = PartTimes(3 * MS, 8 * MS, 4 * MS)


@pytest.fixture
def make():
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
def four(make):
    """A kernel in all modes."""
    return [
        make("pageable", *[30] * 5, parts=(10, 8.1, 11.9)),
        make("pinned", *[15] * 5, parts=(3, 8, 4)),
        make("panels", *[16] * 5, parts=(3, 9, 4)),
        make("overlapped", *[12] * 5),
    ]


def transfer_rows(environment, records):
    (problem,) = compare_transfers(Run(environment, transfers=list(records)))
    return {row.record.mode: row for row in problem.rows}


def test_the_bound_is_the_longest_part_of_the_pinned_row(environment, four):
    found = transfer_rows(environment, four)
    assert {mode: row.bound for mode, row in found.items()} == pytest.approx(dict.fromkeys(found, 8 * MS))
    percents = [found[mode].percent_of_bound for mode in ("pageable", "pinned", "panels", "overlapped")]
    assert percents == pytest.approx([80 / 3, 160 / 3, 50, 200 / 3])


def test_the_bound_of_the_pipeline_adds_what_cannot_overlap(environment, four):
    found = transfer_rows(environment, four)
    # B in 1 ms, then the first of 4 panels in 0.5 ms before the 8 ms and the last out 1 ms after them
    assert found["overlapped"].pipeline_bound == pytest.approx(10.5 * MS)
    assert found["overlapped"].percent_of_pipeline_bound == pytest.approx(87.5)
    assert math.isnan(found["pinned"].pipeline_bound)


def test_the_bound_of_the_pipeline_takes_the_panels_where_they_are_faster(environment, make, four):
    four[2] = make("panels", *[16] * 5, parts=(3, 7, 4))
    assert transfer_rows(environment, four)["overlapped"].pipeline_bound == pytest.approx(9.5 * MS)


@pytest.mark.parametrize(
    ("engines", "alone", "bound", "pipeline"),
    [
        (2, (3, 8, 4), 8, 10.5),
        (2, (3, 1, 8), 8, 1 + (2 + 1) / 4 + 8),
        (2, (9, 1, 2), 9, 3 + 6 + (1 + 2) / 4),
        (1, (3, 8, 4), 8, 10.5),
        (1, (9, 1, 2), 11, 3 + 6 + 2),
    ],
)
def test_the_bounds_of_one_and_two_copy_engines(make, engines, alone, bound, pipeline):
    record, parts = make("overlapped", copy_engines=engines), PartTimes(*alone)
    assert comparison_module.bound(record, parts) == pytest.approx(bound)
    assert comparison_module.pipeline_bound(record, parts) == pytest.approx(pipeline)


def test_one_panel_cannot_overlap_anything(make):
    assert comparison_module.pipeline_bound(make("overlapped", panels=1), ALONE) == pytest.approx(15 * MS)


def test_the_speed_up_is_over_the_pageable_row_of_the_same_rounds(environment, four):
    found = transfer_rows(environment, four)
    assert [found[mode].speedup.value for mode in found] == pytest.approx([1, 2, 30 / 16, 2.5])
    assert (found["pinned"].speedup.low, found["pinned"].speedup.high) == pytest.approx((2, 2))


def test_there_is_no_bound_without_a_valid_pinned_row(environment, four, make):
    wrong = make("pinned", status="wrong", reason="exact check: all of it")
    found = transfer_rows(environment, [four[0], wrong, *four[2:]])
    assert math.isnan(found["overlapped"].bound) and math.isnan(found["overlapped"].percent_of_bound)
    assert found["overlapped"].total.value == pytest.approx(12 * MS)


def test_kernels_are_in_ladder_order_and_modes_in_theirs(environment, four, make):
    late = [make("overlapped", 9, variant="cublas", order=1000), make("pinned", 9, variant="cublas", order=1000)]
    run = Run(environment, transfers=[*late, *four])
    found = [(row.record.variant, row.record.mode) for row in compare_transfers(run)[0].rows]
    modes = ["pageable", "pinned", "panels", "overlapped"]
    assert found == [("naive", mode) for mode in modes] + [("cublas", "pinned"), ("cublas", "overlapped")]


def test_the_last_of_jobs_measured_again_counts(environment, four, make):
    again = make("overlapped", *[11] * 5)
    assert transfer_rows(environment, [*four, again])["overlapped"].total.value == pytest.approx(11 * MS)


def test_the_cells_of_the_table(environment, four):
    found = transfer_rows(environment, four)
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
    assert [cells["overlapped"][name] for name in ("h2d (ms)", "d2h (GB/s)", "kernel (ms)", "total (ms)")] == [
        "-",
        "-",
        "-",
        "12.00 +- 0",
    ]
    assert cells["pageable"]["speed-up"] == "1.00"


def test_a_note_describes_how_near_the_pipeline_comes(environment, four):
    comparison = compare_rows(Run(environment, transfers=four))
    said = report_transfers(comparison).format("simple")
    assert said.startswith("Transfers: M = 256, N = 128, K = 64, nn, f32\n\n")
    assert (
        "naive: the pipeline takes 12.00 ms. It reaches 66.67 % of the bound, 8.000 ms (kernel), "
        "and 87.50 % of the bound with B first and 4 panels, 10.50 ms.\n" in said
    )
    assert "The host takes part" not in said  # only with --wide and in documents
    assert "The host takes part in pageable copies" in report_transfers(comparison, wide=True).format("simple")
    assert "The host takes part in pageable copies" in report_transfers(comparison).format("github")


def test_with_one_copy_engine_both_copies_are_one_part(environment, make):
    records = [make("pinned", 12, parts=(9, 1, 2), copy_engines=1), make("overlapped", 11.5, copy_engines=1)]
    said = report_transfers(compare_rows(Run(environment, transfers=records))).format("simple")
    assert "It reaches 95.65 % of the bound, 11.00 ms (h2d and d2h)," in said
    assert "the longer of kernel, and h2d and d2h together" in said


def test_the_footer_warns_of_host_time_without_a_gate(environment, make):
    said = report_transfers(compare_rows(Run(environment, transfers=[make("pinned", 12, gated=False)]))).format(
        "github"
    )
    assert "every row contains host time" in said


def test_reasons_follow_the_table(environment, four, make):
    skipped = [
        make(mode, status="skipped", reason="a panel of 64 rows: require M % 128 == 0", panels=0, panel_rows=0)
        for mode in ("panels", "overlapped")
    ]
    said = report_transfers(compare_rows(Run(environment, transfers=[*four[:2], *skipped]))).format("github")
    assert "- naive, overlapped: skipped: a panel of 64 rows: require M % 128 == 0\n" in said
    assert said.startswith("### Transfers: ")


def test_a_run_without_transfers_has_no_section(environment):
    run = Run(environment)
    assert report_transfers(compare_rows(run)).format("simple") == ""
    assert "Transfers" not in format_reports(report_results(compare_rows(run)), "simple")
    assert export_transfers(compare_rows(run)) == []


def test_rich_shows_the_same(environment, four):
    said = draw_report(report_transfers(compare_rows(Run(environment, transfers=four))), 200).plain
    assert "overlapped, 4 panels, 3 streams" in said and "66.67" in said


def test_the_exported_columns(environment, four):
    flat = export_transfers(compare_rows(Run(environment, transfers=four)))
    assert all(list(row) == [column.key for column in COLUMNS] for row in flat)
    pinned, overlapped = flat[1], flat[3]
    assert pinned["total_s"] == pytest.approx(15 * MS) and pinned["h2d_bytes_per_s"] == pytest.approx(1e9)
    assert (pinned["bound_s"], pinned["percent_of_bound"]) == (pytest.approx(8 * MS), pytest.approx(160 / 3))
    assert (overlapped["h2d_s"], overlapped["kernel_s"], overlapped["d2h_bytes_per_s"]) == (None, None, None)
    assert overlapped["percent_of_pipeline_bound"] == pytest.approx(87.5)
    assert overlapped["config"] == "BX=16" and overlapped["rounds"] == 10


def test_rows_survive_the_journal_and_old_files_have_none(environment, four, tmp_path, make_record):
    path = tmp_path / "run.jsonl"
    with Journal(Run(environment, path=path)) as journal:
        journal.write([make_record("naive", [1e-3])])
        for record in four:
            journal.write([record])
    run = read_results(path)
    assert run.transfers == four and [record.variant for record in run.records] == ["naive"]
    with Journal(Run(environment, path=tmp_path / "old.jsonl")) as journal:
        journal.write([make_record("naive", [1e-3])])
    assert read_results(tmp_path / "old.jsonl").transfers == []


def test_a_kernel_is_complete_with_four_rows_that_were_not_interrupted(four, make):
    assert complete_transfers(four) == {"key"}
    assert complete_transfers(four[:3]) == set()
    assert complete_transfers([*four[:3], make("overlapped", 12, stopped="interrupted")]) == set()
