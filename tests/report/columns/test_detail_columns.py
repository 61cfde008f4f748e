"""Details of a row, computed by hand for 64 cubed on 10 multiprocessors, and columns on steady loads."""

import math

import pytest

from gemmbench.bench.record import Load, NetworkFacts, Sustained, Telemetry
from gemmbench.report.columns.all_columns import table_columns
from gemmbench.report.export import export_kernels
from gemmbench.report.row import launch_occupancy, roofline

MS = 1e-3
LAUNCH = {"grid": [4, 4, 2], "block": [256, 1, 1], "registers": 32, "shared_static": 1024, "shared_dynamic": 0}


@pytest.fixture
def one(compare, steady):
    """The columns of one row."""
    return lambda device=(), **changed: export_kernels(compare(steady("naive", **changed), **dict(device)))[0]


@pytest.mark.parametrize(
    ("changed", "least"),
    [
        ({}, 4 * 3 * 64**2),
        ({"beta": 0.5}, 4 * 4 * 64**2),
        ({"precision_name": "f16"}, 2 * 3 * 64**2),
        ({"network": NetworkFacts(title="net", flops=2 * 64**3, bytes=1000)}, 1000),  # from its record
    ],
)
def test_the_least_bytes_and_the_intensity(one, changed, least):
    found = one(**changed)
    assert (found["bytes_least"], found["flop_per_byte"]) == (least, pytest.approx(2 * 64**3 / least))


def test_the_bytes_read_follow_from_the_tile(one):
    assert one()["bytes_read"] is None
    assert one(tile=[1, 1])["bytes_read"] == 4 * 2 * 64**3
    assert one(tile=[64, 64])["bytes_read"] == 4 * 64 * (64 + 64)
    assert one(tile=[16, 32])["bytes_read"] == 4 * 64 * (64 * 2 + 64 * 4)
    assert one(tile=[48, 48])["bytes_read"] == 4 * 64 * (64 * 2 + 64 * 2)  # two tiles cover 64


SLOW = {"bandwidth": 1e9}


@pytest.mark.parametrize(
    ("device", "changed", "bound", "percent"),
    [
        ({}, {"clocks_hz": [0.5e9]}, "compute", pytest.approx(0.1048576)),  # at the measured clock
        (SLOW, {}, "memory", pytest.approx(100 * 49.152e-6 / MS)),
        (SLOW, {"cache": "hot"}, "compute", pytest.approx(0.0524288)),
        ({}, {"clocks_hz": []}, "", None),
        ({}, {"backend": "cpu"}, "", None),
        ({}, {"precision_name": "bf16"}, "", None),
    ],
)
def test_only_cold_rows_are_memory_bound_and_a_bound_needs_a_clock_and_a_rate(one, device, changed, bound, percent):
    found = one(device, **changed)
    assert (found["bound"], found["percent_of_bound"]) == (bound, percent)
    assert bound != "compute" or found["percent_of_bound"] == pytest.approx(found["percent_of_peak"])


def test_the_least_time_counts_c_twice_if_it_is_read(compare, paired):
    seconds = 5.5e-5  # between 49 us for three matrices and 66 us for four, at 1 GB/s
    rows = compare(paired("naive", seconds), paired("tiled", seconds, beta=1.0), **SLOW).rows
    assert {row.record.variant: row.too_good for row in rows} == {"naive": False, "tiled": True}


def test_a_row_that_never_ran_still_has_its_intensity(make_record, environment):
    roof = roofline(environment, make_record("naive", status="failed"), math.nan, math.nan)
    assert roof.bytes == 49152 and roof.bound == "" and math.isnan(roof.percent)


@pytest.mark.parametrize(
    ("blocks", "waves", "last"), [(32, 0.4, 0.4), (80, 1.0, 1.0), (160, 2.0, 1.0), (100, 1.25, 0.25)]
)
def test_occupancy_follows_from_a_block_and_the_last_wave_holds_the_remaining_blocks(one, blocks, waves, last):
    found = one(**{**LAUNCH, "grid": [blocks // 4, 4, 1]})  # 8 warps a block: 8 blocks, 64 warps of 64; 80 places
    assert (found["blocks_per_sm"], found["occupancy"], found["occupancy_limit"]) == (8, 1, "warps")
    assert (found["blocks"], found["waves"], found["last_wave"]) == (blocks, waves, last)


@pytest.mark.parametrize(
    ("device", "changed"),
    [
        ({}, {"grid": [], "block": []}),  # a library
        ({}, {"registers": -1}),
        ({}, {"backend": "cpu"}),
        ({"backend": "cpu", "gpu": False}, {"backend": "cpu"}),
        ({"sm": 71}, {}),
        ({}, {"shared_dynamic": 1 << 20}),  # no block fits
    ],
)
def test_the_occupancy_is_unknown(compare, paired, device, changed):
    comparison = compare(paired("naive", MS, **{**LAUNCH, **changed}), **device)
    assert launch_occupancy(comparison.environment, comparison.rows[0].record) is None
    assert export_kernels(comparison)[0]["waves"] is None


def test_telemetry_and_energy_are_empty_where_unknown(one):
    telemetry = Telemetry(
        readings=5, temperature=61.0, memory_clock_hz=3.2e9, slowed_by=["power cap"], other_processes=0
    )
    found = one(telemetry=telemetry)
    assert (found["temperature_c"], found["memory_clock_hz"], found["slowed_by"]) == (61, 3.2e9, "power cap")
    assert (found["other_processes"], found["power_w"], found["energy_j"]) == (0, None, None)
    assert one(telemetry=Telemetry(power=300.0))["power_w"] == 300
    names = "temperature_c memory_clock_hz other_processes power_w energy_j gflops_per_w".split()
    assert {one()[name] for name in names} == {None}


def test_a_wide_table_has_the_columns_that_are_not_empty(compare, paired, steady):
    telemetry = Telemetry(readings=1, temperature=61.0)
    loaded = Sustained(own=[Load(seconds=1.0, launches=1000, joules=250.0, joules_seconds=0.5)])
    naive = steady("naive", 2, **LAUNCH, spills=0, tile=[1, 1], telemetry=telemetry, sustained=loaded)
    rows = compare(naive, steady("cublas", order=9.0)).rows
    usual, wide = table_columns(rows), table_columns(rows, wide=True)
    assert wide[: len(usual)] == usual and "J" in [column.heading for column in usual]
    cells = [{column.heading: column.cell(row) for column in wide[len(usual) :]} for row in rows]
    assert cells[0] == {
        "row": "1",
        "registers": "32",
        "spilled (B)": "0",
        "shared (B)": "1024",
        "occupancy": "100 % (warps)",
        "blocks": "32",
        "waves": "0.4000",
        "last wave": "40 %",
        "moved (MB)": "0.04915",
        "reads (MB)": "2.097",
        "FLOP/B": "10.67",
        "% of bound": "0.02621 (compute)",
        "clock (GHz)": "1.000",
        "clock (%)": "+0.00",
        "deg C": "61",
        "W": "500",
        "GFLOPS/W": "0.001049",
        "spread (%)": "0",
    }
    assert [cells[1][name] for name in ("row", "registers", "blocks", "W")] == ["2", "-", "-", "-"]
    unwatched = {column.heading for column in table_columns(compare(paired("naive", MS)).rows, wide=True)}
    assert not {"deg C", "PDL"} & unwatched and not any("sustained" in heading for heading in unwatched)


def test_a_wide_table_and_the_exports_say_whose_launches_overlap(compare, paired):
    comparison = compare(paired("mine", MS, pdl=True), paired("naive", MS))
    (column,) = [column for column in table_columns(comparison.rows, wide=True) if column.heading == "PDL"]
    assert {row.record.variant: column.cell(row) for row in comparison.rows} == {"mine": "yes", "naive": "-"}
    assert {each["variant"]: each["pdl"] for each in export_kernels(comparison)} == {"mine": 1, "naive": 0}


def test_rows_are_numbered_through_all_problems(compare, paired):
    rows = compare(paired("naive", MS), paired("tiled", MS, order=2.0), paired("naive", MS, size=128)).rows
    assert [row.number for row in rows] == [1, 2, 3]


@pytest.mark.parametrize(("precision", "hides"), [("f32", True), ("3xtf32", False)])
def test_a_narrow_screen_shows_the_error_of_products_of_parts(compare, steady, precision, hides):
    rows = compare(steady("naive", precision_name=precision, error=0.5)).rows
    hidden = {column.heading: bool(column.hide) for column in table_columns(rows)}
    assert hidden["error (max. 16)"] is hides


OWN = Load(seconds=0.8, launches=400, clock_hz=1.5e9, joules=350.0, joules_seconds=0.5, temperature=61.0)
BASE = Load(seconds=0.8, launches=396, clock_hz=1.6e9, slowed_by=["power cap"])


@pytest.fixture
def comparison(compare, steady):
    return compare(
        steady("naive", 2, sustained=Sustained(own=[OWN] * 2, baseline=[BASE] * 2)),
        steady("tiled", 2, order=2.0, clocks_hz=[1.99e9] * 10),
        steady("cublas", order=9.0, clocks_hz=[2e9] * 10, sustained=Sustained(own=[BASE] * 2)),
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


def test_the_clock_is_paired_with_the_baseline_s(comparison, compare, paired):
    naive, tiled, cublas = export_kernels(comparison)
    assert tiled["clock_difference_percent"] == pytest.approx(-0.5)
    assert (naive["clock_difference_percent"], cublas["clock_difference_percent"]) == (-50, None)
    base = paired("cublas", *[MS] * 3, order=9.0, clocks_hz=[2e9, 1e9, 2e9, 2e9, 2e9, 2e9])
    unknown = [1.98e9] * 5  # one clock is missing
    for clocks, percent in (([1.98e9, 0.99e9, *[1.98e9] * 4], pytest.approx(-1.0)), (unknown, None)):
        naive, _ = export_kernels(compare(paired("naive", *[MS] * 3, clocks_hz=clocks), base))
        assert naive["clock_difference_percent"] == percent
