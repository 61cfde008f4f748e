"""Flags on rows; their thresholds are checked by hand."""

from dataclasses import replace

import msgspec
import pytest

from gemmbench.bench.record import Telemetry
from gemmbench.report.comparison import compare_rows
from gemmbench.report.export import export_kernels
from gemmbench.report.flags import MEANINGS, explain_letters, find_flags, flag_letters, notable_letters
from gemmbench.report.table import format_reports
from gemmbench.report.tables.kernel_tables import report_results

MS = 1e-3


@pytest.fixture
def row(make_run, paired):
    """A row of five mirrored pairs of 2 ms, changed as asked."""

    def make(*seconds, **changed):
        run = make_run(paired("naive", *(seconds or [2 * MS] * 5), **changed))
        return compare_rows(run).rows[0]

    return make


def test_a_good_row_has_no_flag(row):
    assert flag_letters(row()) == ""


def slowed_by(name):
    return {"telemetry": Telemetry(slowed_by=[name])}


@pytest.mark.parametrize(
    ("letter", "changed", "near"),
    [
        ("C", {"clocks_hz": [1.979e9, 1.98e9, 1.939e9]}, {"clocks_hz": [1.979e9, 1.98e9, 1.941e9]}),
        (
            "T",
            {"telemetry": Telemetry(slowed_by=["power cap"])},
            {"telemetry": Telemetry(slowed_by=["application clocks"])},
        ),
        ("O", {"telemetry": Telemetry(other_processes=1)}, {"telemetry": Telemetry(other_processes=0)}),
        ("H", {"cache": "hot"}, {"cache": "cold"}),
        ("H", {"cache": "partly cold"}, {}),
        ("R", {"reads_c": True}, {}),
        ("P", {"pdl": True}, {}),
    ],
)
def test_each_letter_has_a_threshold(row, letter, changed, near):
    assert flag_letters(row(**changed)) == letter
    assert flag_letters(row(**near)) == ""


def test_an_interval_over_2_percent_of_the_time_is_noisy(row):
    assert flag_letters(row(*(MS * value for value in (1.98, 1.99, 2.00, 2.01, 2.02)))) == "N"
    assert flag_letters(row(*(MS * value for value in (1.984, 1.99, 2.00, 2.01, 2.016)))) == ""


def test_two_modes_are_flagged_if_they_are_half_a_percent_apart(row):
    apart = [2.00, 2.00, 2.02, 2.02, 2.02]
    assert flag_letters(row(*(MS * value for value in apart))) == "B"
    assert (
        "some rounds take about 2 ms, the others about 2.02 ms"
        in find_flags(row(*(MS * value for value in apart)))["B"]
    )
    near = [2.00, 2.00, 2.005, 2.005, 2.005]
    assert flag_letters(row(*(MS * value for value in near))) == ""


def test_fewer_than_5_blocks_are_few(row):
    assert flag_letters(row(*[2 * MS] * 4)) == "F"


def test_a_window_should_last_a_millisecond_with_a_tolerance_of_a_tenth(row):
    assert flag_letters(row(*[0.1 * MS] * 5, launches=8)) == "S"
    assert flag_letters(row(*[0.1 * MS] * 5, launches=9)) == ""


def test_an_impossible_time_is_too_good(row):
    assert flag_letters(row(*[1e-7] * 5, launches=10_000)) == "G"


def test_letters_have_one_order(row):
    many = {
        "clocks_hz": [1e9, 2e9],
        "telemetry": Telemetry(other_processes=2, slowed_by=["power brake"]),
        "cache": "hot",
    }
    assert flag_letters(row(1e-7, launches=1, **many)) == "GCTOFSH"
    assert set("GCTONBFSHRPU") == set(MEANINGS)


def test_a_row_with_an_ungated_window_is_marked_unless_that_was_asked_for(row, environment):
    found = row(gated=False)
    gpu = replace(found, environment=msgspec.structs.replace(environment, backend=found.record.backend))
    assert flag_letters(gpu) == notable_letters(gpu) == "U"
    asked = msgspec.structs.replace(gpu.environment, policy={"gate": False})
    assert notable_letters(replace(gpu, environment=asked)) == ""


@pytest.mark.parametrize("changed", [{"status": "wrong"}, {"samples": [], "rounds": []}])
def test_a_row_without_a_valid_time_has_no_flag(make_run, make_record, changed):
    run = make_run(make_record("naive", **{"samples": [MS], "rounds": [0], "cache": "hot", **changed}))
    assert flag_letters(compare_rows(run).rows[0]) == ""


def test_each_letter_gives_its_numbers(row):
    found = find_flags(
        row(
            clocks_hz=[1.9e9, 1.98e9, 1.98e9],
            telemetry=Telemetry(slowed_by=["power cap", "sync boost"], other_processes=2),
        )
    )
    assert found == {
        "C": "the SM clock ranged from 1.900 to 1.980 GHz, 4.0 % of its median",
        "T": "the clock was held down by power cap",
        "O": "NVML counted 2",
    }


def test_the_legend_explains_only_letters_that_occur(row):
    assert explain_letters([row(), row(cache="hot"), row(telemetry=Telemetry(other_processes=1))]) == [
        "Flags: O others: other processes had the GPU open; H hot: some or all operands were in the cache."
    ]
    assert explain_letters([row()]) == []


def test_a_table_has_the_column_only_if_a_row_has_a_flag(make_run, paired):
    clean, hot = paired("naive", *[2 * MS] * 5), paired("tiled", *[2 * MS] * 5, cache="hot")
    assert "lags" not in format_reports(report_results(compare_rows(make_run(clean))), "simple")
    lines = format_reports(report_results(compare_rows(make_run(clean, hot))), "simple").splitlines()
    assert lines[2].endswith("status  flags") and lines[4].endswith("ok") and lines[5].endswith("ok      H")
    assert "Flags: H hot: some or all operands were in the cache." in lines


def test_flags_are_in_the_exports(make_run, paired):
    run = make_run(paired("naive", *[2 * MS] * 5, cache="hot"))
    assert [row["flags"] for row in export_kernels(compare_rows(run))] == ["H"]


def test_a_table_leaves_out_what_is_normal_on_a_cpu(make_run, paired):
    def letters(*seconds, **changed):
        run = make_run(paired("naive", *seconds, backend="cpu", launches=1, cache="partly cold", **changed), gpu=None)
        (row,) = compare_rows(run).rows
        return flag_letters(row), notable_letters(row)

    assert letters(*[0.1 * MS] * 5) == ("SH", "")
    assert letters(*(MS * value for value in (2.0, 2.05, 2.1, 2.15, 2.2))) == ("NH", "")
    assert letters(*(MS * value for value in (2.0, 2.2, 2.4, 2.6, 2.8))) == ("NH", "N")
    assert letters(*(MS * value for value in (2.0, 2.0, 2.1, 2.1, 2.1))) == ("NBH", "")
    assert letters(MS) == ("FH", "F")


def test_a_table_of_hot_rows_has_no_flag_for_it_if_they_were_asked_for(make_run, paired):
    (asked,) = compare_rows(make_run(paired("naive", *[2 * MS] * 5, cache="hot"), policy={"cache": "hot"})).rows
    (other,) = compare_rows(make_run(paired("naive", *[2 * MS] * 5, cache="hot"), policy={"cache": "cold"})).rows
    assert (notable_letters(asked), notable_letters(other)) == ("", "H")


def test_the_explanation_of_noise_names_the_limit_of_the_device(make_run, paired):
    noisy = [MS * value for value in (2.0, 2.0, 2.0, 2.5, 2.6)]
    on_gpu = compare_rows(make_run(paired("naive", *noisy))).rows
    on_cpu = compare_rows(make_run(paired("naive", *noisy, backend="cpu"), gpu=None)).rows
    assert "spans more than 2 %" in explain_letters(on_gpu)[0]
    assert "spans more than 20 %" in explain_letters(on_cpu)[0]
