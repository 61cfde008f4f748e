"""`--with-transfers` from end to end on the fake device, and where it is refused.

256 x 128 x 64 in f32: B 32,768 bytes, A twice, C four times as many, 4,194,304 operations.
"""

import csv
import json

import pytest

from gemmbench.backends.cuda.system import probe
from gemmbench.report.store.reading import read_results

from .conftest import cut_after

RATES = {"h2d": 32768e3, "d2h": 32768e3, "pageable": 16384e3, "flops": 4194304e3 / 8}
JOB = ["--sizes", "256x128x64", "--rounds", "10", "--cache", "hot", "--with-transfers"]


@pytest.fixture
def run(gemmbench, script):
    def go(*arguments, command="run", variants=("naive", "cublas"), options=JOB, **scripted):
        device = script(**{"transfers": RATES, **scripted})
        return gemmbench(command, *variants, "--device", device, *options, *arguments)

    return go


@pytest.fixture
def rows(tmp_path):
    def find():
        (path,) = (tmp_path / "results").glob("*.transfers.csv")
        with path.open() as file:
            return list(csv.DictReader(file))

    return find


def test_a_second_table_follows_the_first(run, saved):
    said = run()
    assert said.code == 0
    first, _, second = said.out.partition("Transfers: M = 256, N = 128, K = 64, nn, f32\n")
    assert "Time: mean per launch" in first and second.count("overlapped, 4 panels, 3 streams") == 2
    assert "naive: the pipeline takes 10.50 ms. It reaches 76.19 % of the bound, 8.000 ms (kernel)," in second
    stem = saved()[0].stem
    assert said.err == f"results: results/{stem}.jsonl and .csv and .transfers.csv\n"


def test_the_digits_are_those_of_the_rates(run, rows):
    run(variants=("cublas",))
    found = {row["mode"]: row for row in rows()}
    totals = [float(row["total_s"]) for row in found.values()]
    assert totals == pytest.approx([22e-3, 15e-3, 15e-3, 10.5e-3])
    assert [float(row["speedup"]) for row in found.values()] == pytest.approx([1, 22 / 15, 22 / 15, 22 / 10.5])
    assert float(found["overlapped"]["pipeline_bound_s"]) == pytest.approx(10.5e-3)
    assert float(found["pinned"]["h2d_bytes_per_s"]) == pytest.approx(32768e3)
    assert [row["panels"] for row in found.values()] == ["1", "1", "4", "4"]


def test_only_the_option_or_the_environment_asks_for_transfers(run, saved, monkeypatch, tmp_path):
    said = run("--out", "without", options=JOB[:-1])
    assert "Transfers" not in said.out and not list((tmp_path / "without").glob("*.transfers.csv"))
    assert read_results(saved("without")[0]).transfers == []
    monkeypatch.setenv("GEMMBENCH_WITH_TRANSFERS", "1")
    monkeypatch.setenv("GEMMBENCH_PANELS", "2")
    assert "overlapped, 2 panels" in run(options=JOB[:-1]).out


def test_panels_and_streams_are_options(run, rows):
    run("--panels", "2", "--streams", "1", variants=("cublas",))
    overlapped = rows()[3]
    assert (overlapped["panels"], overlapped["panel_rows"], overlapped["streams"]) == ("2", "128", "1")
    assert float(overlapped["total_s"]) == pytest.approx(15e-3)


def test_compare_measures_transfers_too(run, rows):
    said = run(command="compare")
    assert said.code == 0 and len(rows()) == 8
    assert said.out.index("Transfers: ") < said.out.index("cublas is as fast as")


def test_of_a_sweep_the_best_configuration_is_measured(run, rows):
    run("--param", "BX=8,16", variants=("naive",), times={"naive": [2e-3, 1e-3]})
    assert {row["variant"] for row in rows()} == {"naive", "cublas"}
    assert len({row["config"] for row in rows() if row["variant"] == "naive"}) == 1


def test_show_prints_and_exports_them_again(run, gemmbench, saved, tmp_path):
    out = run().out
    journal = saved()[0]
    said = gemmbench("show", journal, "--export-csv", "x.csv", "--export-json", "x.json", "--export-markdown", "x.md")
    assert said.out == out
    assert (tmp_path / "x.transfers.csv").read_text() == journal.with_suffix(".transfers.csv").read_text()
    exported = json.loads((tmp_path / "x.json").read_text())["transfers"]
    assert [row["mode"] for row in exported][:2] == ["pageable", "pinned"]
    assert "### Transfers: M = 256" in (tmp_path / "x.md").read_text()


def test_a_wrong_kernel_has_no_transfers_and_ends_in_1(run, rows):
    assert run(faults={"naive": "zero"}).code == 1
    assert {row["variant"] for row in rows()} == {"cublas"}


def test_resume_repeats_only_what_is_not_complete(run, saved, rows):
    run()
    journal = saved()[0]
    lines = journal.read_text().splitlines()
    cut_after(journal, len(lines) - 4)  # cublas has lost two of its four modes, and the run its end
    assert run("--resume").code == 0
    again = journal.read_text().splitlines()
    assert len(again) == len(lines) - 2 + 4 and len(rows()) == 8
    assert all(json.loads(line)["variant"] == "cublas" for line in again[-5:-1])


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_transfers_on_the_cpu_are_refused_before_anything_runs(gemmbench, monkeypatch, tmp_path, device):
    monkeypatch.setattr(probe, "why_no_gpu", lambda: "no NVIDIA driver")
    for command in (["run", "naive"], ["compare", "naive", "openblas"]):
        said = gemmbench(*command, "--device", device, *JOB)
        assert (said.code, said.out) == (3, "")
        assert "gemmbench: transfers need a GPU: the CPU device uses the matrices in place," in said.err
        assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("option", [("--panels", "0"), ("--streams", "0"), ("--panels", "65"), ("--streams", "x")])
def test_panels_and_streams_that_make_no_sense_are_refused(run, option):
    said = run(*option)
    assert said.code == 2 and f"'{option[0]}'" in said.err


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ({"h2d": 0}, "should be one of h2d, d2h, pageable, flops, such as 1.0e+9"),
        ({"h2d": "1e9"}, "YAML reads `1e9` as text; write 1000000000"),
        ({"bus": 1e9}, "should be one of h2d, d2h, pageable, flops, such as 1.0e+9"),
    ],
)
def test_a_script_with_other_rates_is_refused(run, rates, message):
    said = run(transfers=rates)
    assert said.code == 2 and message in said.err
