"""Columns on steady loads, and on the clock next to the baseline's."""

import pytest

from gemmbench.bench.record import Load, Sustained, Telemetry
from gemmbench.report.columns.all_columns import table_columns
from gemmbench.report.comparison import compare_rows
from gemmbench.report.export import export_kernels

MS = 1e-3
OWN = Load(seconds=0.8, launches=400, clock_hz=1.5e9, joules=350.0, joules_seconds=0.5, temperature=61.0)
BASE = Load(seconds=0.8, launches=396, clock_hz=1.6e9, slowed_by=["power cap"])


@pytest.fixture
def comparison(make_run, paired):
    return compare_rows(
        make_run(
            paired("naive", *[2 * MS] * 5, sustained=Sustained(own=[OWN] * 2, baseline=[BASE] * 2)),
            paired("tiled", *[2 * MS] * 5, order=2.0, clocks_hz=[1.99e9] * 10),
            paired("cublas", *[MS] * 5, order=9.0, clocks_hz=[2e9] * 10, sustained=Sustained(own=[BASE] * 2)),
        )
    )


def test_exports_have_speed_power_clock_and_energy(comparison):
    naive, tiled, cublas = export_kernels(comparison)
    assert naive["sustained_time_s"] == pytest.approx(2e-3)
    assert naive["sustained_gflops"] == pytest.approx(2 * 64**3 / 2e-3 / 1e9)
    assert naive["sustained_percent_of_baseline"] == pytest.approx(100 / 0.99)
    assert (naive["sustained_w"], naive["sustained_clock_hz"]) == (pytest.approx(700), pytest.approx(1.5e9))
    assert (naive["energy_j"], naive["power_w"]) == (pytest.approx(1.4), pytest.approx(700))
    assert (naive["sustained_temperature_c"], naive["sustained_settled"]) == (61, True)
    assert (cublas["sustained_slowed_by"], cublas["sustained_percent_of_baseline"]) == ("power cap", 100)
    assert {tiled[name] for name in tiled if name.startswith("sustained_")} == {None}


def test_tables_have_them_next_to_the_burst_figure(comparison):
    columns = table_columns(comparison.rows)
    headings = [column.heading for column in columns]
    first = headings.index("sustained TFLOPS")
    shown = ["sustained TFLOPS", "sustained % of {baseline}", "sustained W", "sustained GHz", "J"]
    assert headings[first - 1 : first + 5] == ["% of peak", *shown]
    naive, tiled, cublas = ([column.cell(row) for column in columns[first : first + 5]] for row in comparison.rows)
    assert naive == ["0.0002621", "101.0", "700", "1.500", "1.400"]
    assert tiled == ["-"] * 5
    assert cublas == ["0.0002595", "100.0", "-", "1.600", "-"]


def test_tables_without_a_steady_load_do_not_have_them(make_run, paired):
    columns = table_columns(compare_rows(make_run(paired("naive", MS))).rows, wide=True)
    assert not any("sustained" in column.heading for column in columns)


def test_the_clock_is_paired_with_the_baseline_s(comparison, make_run, paired):
    naive, tiled, cublas = export_kernels(comparison)
    assert tiled["clock_difference_percent"] == pytest.approx(-0.5)
    assert (naive["clock_difference_percent"], cublas["clock_difference_percent"]) == (-50, None)
    base = paired("cublas", *[MS] * 3, order=9.0, clocks_hz=[2e9, 1e9, 2e9, 2e9, 2e9, 2e9])
    rows = make_run(paired("naive", *[MS] * 3, clocks_hz=[1.98e9, 0.99e9, *[1.98e9] * 4]), base)
    assert export_kernels(compare_rows(rows))[0]["clock_difference_percent"] == pytest.approx(-1.0)
    rows = make_run(paired("naive", *[MS] * 3, clocks_hz=[1.98e9] * 5), base)  # one clock is unknown
    assert export_kernels(compare_rows(rows))[0]["clock_difference_percent"] is None


def test_older_files_have_their_energy(make_run, paired):
    old = Telemetry(energy=0.25, energy_power=500.0, energy_seconds=2.0)
    (row,) = export_kernels(compare_rows(make_run(paired("naive", *[MS] * 5, telemetry=old))))
    assert (row["energy_j"], row["power_w"], row["sustained_w"]) == (0.25, 500, None)
