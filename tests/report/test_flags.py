"""Flags on rows; their thresholds are checked by hand."""

import re
from dataclasses import replace

import msgspec
import pytest

from gemmbench.bench.record import Telemetry
from gemmbench.report.export import export_kernels
from gemmbench.report.flags import MEANINGS, explain_letters, find_flags, flag_letters, name_letters
from gemmbench.report.table import format_reports
from gemmbench.report.tables.kernel_tables import report_results

STEADY = [2] * 5


@pytest.fixture
def row(compare, paired):
    """A row of mirrored pairs of these milliseconds, changed as asked."""

    def make(milliseconds=STEADY, environment=(), **changed):
        seconds = [1e-3 * value for value in milliseconds]
        return compare(paired("naive", *seconds, **changed), **dict(environment)).rows[0]

    return make


def slowed_by(name):
    return {"telemetry": Telemetry(slowed_by=[name])}


MANY = {"clocks_hz": [1e9, 2e9], "telemetry": Telemetry(other_processes=2, slowed_by=["power brake"]), "cache": "hot"}


@pytest.mark.parametrize(
    ("letters", "milliseconds", "changed"),
    [
        ("", STEADY, {}),
        ("C", STEADY, {"clocks_hz": [1.979e9, 1.98e9, 1.939e9]}),
        ("", STEADY, {"clocks_hz": [1.979e9, 1.98e9, 1.941e9]}),
        ("T", STEADY, slowed_by("power cap")),
        ("", STEADY, slowed_by("application clocks")),
        ("O", STEADY, {"telemetry": Telemetry(other_processes=1)}),
        ("", STEADY, {"telemetry": Telemetry(other_processes=0)}),
        ("H", STEADY, {"cache": "hot"}),
        ("H", STEADY, {"cache": "partly cold"}),
        ("R", STEADY, {"reads_c": True}),
        ("P", STEADY, {"pdl": True}),
        ("L", STEADY, {"overlap_unknown": True}),
        ("E", STEADY, {"per_product": True}),
        ("A", STEADY, {"approx": 2**-11}),
        ("N", [1.98, 1.99, 2.00, 2.01, 2.02], {}),  # over 2 % of the time
        ("", [1.984, 1.99, 2.00, 2.01, 2.016], {}),
        ("B", [2.00, 2.00, 2.02, 2.02, 2.02], {}),  # two modes half a percent apart
        ("", [2.00, 2.00, 2.005, 2.005, 2.005], {}),
        ("F", [2], {}),
        ("", [2] * 2, {}),
        ("S", [0.1] * 5, {"launches": 8}),  # a window should last a millisecond, with a tolerance of a tenth
        ("", [0.1] * 5, {"launches": 9}),
        ("G", [1e-4] * 5, {"launches": 10_000}),
        ("GCTOFSH", [1e-4], {"launches": 1, **MANY}),
        ("", STEADY, {"status": "wrong", "cache": "hot"}),  # no valid time, no flag
        ("", [], {"cache": "hot"}),
    ],
)
def test_each_letter_has_a_threshold_and_a_place(row, letters, milliseconds, changed):
    found = row(milliseconds, **changed)
    assert flag_letters(found) == letters
    legends = [name_letters([found]), "".join(explain_letters([found]))]
    assert all(re.findall(r"(?:: |[,;] )([A-Z]) ", legend) == list(letters) for legend in legends)
    assert set("GCTONBFSHRPLEAU") == set(MEANINGS)


def test_a_row_with_an_ungated_window_is_marked_unless_that_was_asked_for(row, environment):
    found = row(gated=False)
    gpu = replace(found, environment=msgspec.structs.replace(environment, backend=found.record.backend))
    assert flag_letters(gpu) == "U" and name_letters([gpu]) == "Flags: U ungated"
    asked = msgspec.structs.replace(gpu.environment, policy={"gate": False})
    assert flag_letters(replace(gpu, environment=asked)) == ""


def test_each_letter_gives_its_numbers(row):
    telemetry = Telemetry(slowed_by=["power cap", "sync boost"], other_processes=2)
    assert find_flags(row(clocks_hz=[1.9e9, 1.98e9, 1.98e9], telemetry=telemetry)) == {
        "C": "the SM clock ranged from 1.900 to 1.980 GHz, 4.0 % of its median; nvidia-smi -lgc locks it",
        "T": "the clock was held down by power cap; let the GPU cool down, or lock a lower clock",
        "O": "NVML counted 2; nvidia-smi lists them",
    }
    found = find_flags(row([2.00, 2.00, 2.02, 2.02, 2.02]))
    assert "some rounds take about 2.00 ms, others take about 2.02 ms" in found["B"]


def test_the_legend_explains_only_letters_that_occur(row):
    assert explain_letters([row(), row(cache="hot"), row(telemetry=Telemetry(other_processes=1))]) == [
        "Flags: O others: other processes had the GPU open; H hot: some or all operands were in the cache."
    ]
    assert explain_letters([row()]) == []


def test_a_table_has_the_column_only_if_a_row_has_a_flag_and_the_exports_have_it(compare, steady):
    clean, both = compare(steady("naive", 2)), compare(steady("naive", 2), steady("tiled", 2, cache="hot"))
    assert "lags" not in format_reports(report_results(clean), "simple")
    lines = format_reports(report_results(both), "simple").splitlines()
    assert lines[2].endswith("status  flags") and lines[4].endswith("ok") and lines[5].endswith("ok      H")
    assert "Flags: H hot." in lines
    assert "- Flags: H hot: some or all operands were in the cache." in report_results(both)[0].format("github")
    assert [row["flags"] for row in export_kernels(both)] == ["", "H"]


@pytest.mark.parametrize(
    ("milliseconds", "letters"),
    [
        ([0.1] * 5, ""),  # short windows
        ([2.0, 2.05, 2.1, 2.15, 2.2], ""),  # noise of 10 %
        ([2.0, 2.2, 2.4, 2.6, 2.8], "N"),
        ([2.0, 2.0, 2.1, 2.1, 2.1], ""),  # two modes
        ([1.0], "F"),
    ],
)
def test_what_is_normal_on_a_cpu_raises_no_flag(row, milliseconds, letters):
    found = row(milliseconds, {"gpu": None}, backend="cpu", launches=1, cache="partly cold")
    assert flag_letters(found) == letters


def test_a_row_has_no_flag_for_a_hot_cache_that_was_asked_for(row):
    asked, other = (row(environment={"policy": {"cache": cache}}, cache="hot") for cache in ("hot", "cold"))
    assert (flag_letters(asked), flag_letters(other)) == ("", "H")
