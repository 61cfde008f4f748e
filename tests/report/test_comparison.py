"""What the samples mean; every number here is computed by hand for 64 cubed."""

import math

import pytest

from gemmbench.bench.timing.stats import WIDENING
from gemmbench.report.comparison import compare_rows
from gemmbench.report.export import export_kernels

MS = 1e-3
# The columns of the exports are a promise: new ones may only follow the last.
COLUMNS = (
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
        assert list(row)[: len(COLUMNS)] == COLUMNS


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
