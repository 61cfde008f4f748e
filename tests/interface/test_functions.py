"""gemmbench.run, compare, tune, verify and load, on the fake device, and the notebook of the documentation."""

from __future__ import annotations

import csv
import dataclasses
import doctest
import importlib
import inspect
import logging
import math
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from rich.console import Console

import gemmbench
from gemmbench.bench.experiments import context
from gemmbench.cli import main
from gemmbench.errors import UsageError
from gemmbench.interface import progress
from gemmbench.interface.keywords import SWEEP
from gemmbench.interface.progress import NotebookReporter
from gemmbench.interface.run_results import RunResults
from gemmbench.planning.plans import configurations
from gemmbench.report.charts.chart_model import Choices
from gemmbench.report.export import write_csv
from gemmbench.report.store.recorded_run import Run

MODULES = ["gemmbench", "gemmbench.interface.functions"]


NOTEBOOK = Path(__file__).parents[2] / "docs" / "guides" / "python_interface.py"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, few_sets):
    """An empty working folder; searches verify few shapes, and audits few operand sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(configurations, "AWKWARD", (7, 5, 3))
    monkeypatch.setattr(configurations, "SHAPES", ((7, 5, 3),))
    monkeypatch.setattr(configurations, "LARGE", (17, 18, 19))
    return tmp_path


@pytest.fixture
def script(tmp_path):
    """A script for the fake device; returns what `device` takes."""

    def write(**content):
        path = tmp_path / "script.yaml"
        path.write_text(yaml.safe_dump(content))
        return f"fake:{path}"

    return write


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_are_right(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried > 0 and failed == 0


def test_a_run_gives_the_rows_of_the_command(folder):
    result = gemmbench.run(["naive", "tiled"], sizes=[64, (32, 48, 16)], device="fake", rounds=10)
    assert [record.variant for record in result.records] == ["naive", "tiled", "cublas"] * 2
    assert [record.problem.size for record in result.records][::3] == ["64", "32x48x16"]
    assert result.ok and not result.interrupted and result.path.parent.name == "results"
    assert "naive" in result.table() and "| kernel" in result.table("github")
    assert "registers" in result.table(wide=True)
    assert result._repr_html_().count("<table>") == 2
    assert repr(result) == "<RunResults: quick on Fake GPU, 6 ok>"
    assert result.environment.command.startswith("gemmbench run naive tiled --config quick --device fake --sizes")


def test_the_recorded_command_gives_the_same_rows(folder, monkeypatch):
    result = gemmbench.run("tiled", sizes=64, device="fake", rounds=4, params={"TILE": [8, 16]}, out="one")
    monkeypatch.setattr(sys, "argv", [*shlex.split(result.environment.command), "--out", "two"])
    with pytest.raises(SystemExit):
        main()
    (path,) = (folder / "two").glob("*.jsonl")
    again = gemmbench.load(path)
    assert [record.identity for record in again.records] == [record.identity for record in result.records]


def test_a_folder_is_given_or_no_file_is_kept(folder):
    assert gemmbench.run("naive", sizes=64, device="fake", out=None).path is None
    assert list(folder.iterdir()) == []
    path = gemmbench.run("naive", sizes=64, device="fake", out=folder / "here").path
    assert path.parent == folder / "here" and gemmbench.load(path).records


def test_a_run_that_was_killed_is_interrupted_and_can_be_resumed():
    first = gemmbench.run("naive", sizes=64, device="fake", rounds=4)
    lines = first.path.read_text().splitlines(keepends=True)
    assert not gemmbench.load(first.path).interrupted
    for resume, kept in ((True, -1), (first.path, 2)):
        first.path.write_text("".join(lines[:kept]))
        assert gemmbench.load(first.path).interrupted
        again = gemmbench.run("naive", sizes=64, device="fake", rounds=4, resume=resume)
        assert (again.path, len(again.records)) == (first.path, 2)


def test_a_kernel_that_fails_is_a_row_and_no_error(script):
    result = gemmbench.run("naive", sizes=64, device=script(faults={"naive": "zero"}), out=None)
    assert not result.ok and [record.status for record in result.records] == ["wrong", "ok"]


def test_compare_ends_in_verdicts(script):
    device = script(times={"naive": 2e-3, "tiled": 1e-3})
    result = gemmbench.compare("naive", "tiled", sizes=[64, 128], device=device, out=None)
    assert [verdict.word for verdict in result.verdicts] == ["faster"] * 2
    assert repr(result).startswith("<CompareResults: ")
    assert result._repr_html_().count("tiled is 2.000x faster than naive") == 2
    assert [row.record.variant for row in result.comparison.rows][:3] == ["naive", "tiled", "cublas"]


@pytest.mark.parametrize(("margin", "word"), [(0.01, "faster"), ("6%", "same"), (0.06, "same")])
def test_a_difference_within_the_margin_does_not_matter(script, margin, word):
    device = script(times={"naive": 1.05e-3, "tiled": 1e-3})
    result = gemmbench.compare("naive", "tiled", sizes=64, device=device, margin=margin)
    assert [verdict.word for verdict in result.verdicts] == [word]
    assert f"--margin {result.margin}" in result.environment.command


def test_a_margin_is_a_share():
    with pytest.raises(gemmbench.UsageError, match="margin: '5 percent' is not a share below 100 %; write '3%' or "):
        gemmbench.compare("naive", "tiled", device="fake", margin="5 percent")


@pytest.mark.parametrize("names", [(), ("naive",), ("naive", "naive")])
def test_compare_needs_two_variants(names):
    with pytest.raises(gemmbench.UsageError, match="two different kernels"):
        gemmbench.compare(*names, device="fake")


def test_verify_gives_checks_says_what_is_wrong_and_stops_at_the_first_failure_if_asked(script):
    options = {"sizes": [33], "layout": "nn", "precision": "f32", "device": script(faults={"naive": "last_column"})}
    checks = gemmbench.verify(["naive", "tiled"], **options)
    assert not checks.ok and {record.status for record in checks.records} == {"ok", "wrong"}
    assert "look at the guard on N" in checks.failures[0]
    assert "naive" in checks.table() and "look at the guard on N" in checks._repr_html_()
    one, all_of_them = (gemmbench.verify("naive", exit_first=each, **options) for each in (True, False))
    assert len(one.records) == 1 < len(all_of_them.records)


def test_verify_asks_about_batch_invariance_on_one_device(script):
    options = {"sizes": [8], "layout": "nn", "precision": "f32", "params": {"TILE": 8}}
    (record,) = gemmbench.verify("tiled", invariance=True, device=script(faults={}), **options).records
    assert record.invariance
    with pytest.raises(UsageError, match="verify: invariance uses one device; leave out fleet"):
        gemmbench.verify("tiled", invariance=True, fleet="local", **options)


def test_verify_names_files_that_cannot_be_read(folder, monkeypatch):
    (folder / "broken.cu").write_text("/*---\nsummary: it\n---*/\n")
    monkeypatch.setattr("gemmbench.session.machine.data_folder", lambda name: folder)  # instead of all kernels
    checks = gemmbench.verify(sizes=[33], layout="nn", precision="f32", device="fake")
    assert not checks.ok and [line.partition(":")[0] for line in checks.broken] == ["broken.cu"]


def test_errors_are_those_of_the_package():
    with pytest.raises(gemmbench.UsageError, match="did you mean 'tiled'"):
        gemmbench.run("tild", device="fake")
    with pytest.raises(gemmbench.StoreError, match="no such file"):
        gemmbench.load("nothing.jsonl")
    assert issubclass(gemmbench.UsageError, gemmbench.GemmbenchError)


def test_an_unknown_argument_is_refused_with_the_nearest_name():
    message = r"run\(\) got an unexpected keyword argument 'size' \(did you mean 'sizes'\?\)"
    with pytest.raises(TypeError, match=message):
        gemmbench.run("naive", size=64)


@pytest.mark.parametrize("name", ["run", "compare", "tune", "verify"])
def test_help_and_signature_show_every_option(name):
    function = getattr(gemmbench, name)
    shown = inspect.signature(function).parameters
    assert {"sizes", "params", "launch_limit"} <= set(shown) and "options" not in shown
    for option in shown:
        assert option in inspect.getdoc(function) or name == "compare"
    if name != "verify":
        assert set(SWEEP) <= set(shown)


def test_messages_are_logged(caplog):
    with caplog.at_level(logging.WARNING, "gemmbench"):
        NotebookReporter().message("not using a GPU")
    assert caplog.messages == ["not using a GPU"]


@pytest.mark.parametrize(("asked", "drawn"), [((True,), True), ((False,), False), ((), False)])
def test_bars_are_drawn_in_a_terminal_and_on_request(asked, drawn):
    bar = NotebookReporter(*asked).progress_bar()
    assert (bar.__class__.__name__ == "_GeneratorContextManager") == drawn


@pytest.mark.parametrize(("widgets", "drawn"), [(None, False), ("a spec", True)])
def test_bars_in_a_notebook_need_ipywidgets(monkeypatch, widgets, drawn):
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: widgets)
    assert progress._can_draw(Console(force_jupyter=True)) == drawn


def test_a_run_with_bars_prints_nothing_to_stdout(capfd):
    gemmbench.run("naive", sizes=64, device="fake", out=None, progress=True)
    assert capfd.readouterr().out == ""


def test_without_pandas_a_frame_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(gemmbench.GemmbenchError, match=r"to_pandas\(\) needs pandas: pip install pandas"):
        gemmbench.run("naive", sizes=64, device="fake", out=None).to_pandas()


def test_a_frame_has_the_rows_and_columns_of_the_csv(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    result = gemmbench.run("naive", sizes=64, device="fake", out=None)
    frame = result.to_pandas()
    write_csv(folder / "run.csv", result.comparison)
    header, *rows = csv.reader((folder / "run.csv").read_text().splitlines())
    assert all(list(row) == header for row in frame) and len(rows) == len(frame) == 2
    for row, written in zip(frame, rows, strict=True):
        assert ["" if value is None else str(value) for value in row.values()] == written
    checks = gemmbench.verify("naive", sizes=[33], device="fake").to_pandas()
    assert set(checks[0]) - {"rule"} < set(header) and {row["status"] for row in checks} == {"ok"}


def test_a_record_has_its_time_and_its_percentage_of_the_baseline(script):
    device = script(times={"naive": 2e-3, "cublas": 1e-3}, faults={"tiled": "zero"})
    naive, tiled, cublas = gemmbench.run(["naive", "tiled"], sizes=64, device=device, rounds=10, out=None).records
    assert naive.time.value == pytest.approx(2e-3) and naive.time.low <= 2e-3 <= naive.time.high
    assert (naive.percent.value, cublas.percent.value) == (pytest.approx(50), 100)
    assert naive.gflops == pytest.approx(2 * 64**3 / 2e-3 / 1e9)
    assert math.isnan(tiled.time.value) and math.isnan(tiled.percent.value)


def test_a_run_is_plotted(folder):
    result = gemmbench.run(["naive", "tiled"], sizes=[64, 128], device="fake", out=None)
    assert "Speed over matrix size" in result.plot()._repr_svg_()
    result.plot("ladder", size=64, variants="naive").save(folder / "ladder.svg")
    drawn = (folder / "ladder.svg").read_text()
    assert "The ladder at 64" in drawn and "tiled" not in drawn
    for wrong in ({"kind": "pie"}, {"size": 65}, {"highlight": "tilde"}):
        with pytest.raises(UsageError):
            result.plot(**wrong)
    chosen = set(inspect.signature(result.plot).parameters) - {"kind"}
    assert chosen == {field.name for field in dataclasses.fields(Choices)}


def test_a_notebook_folds_how_to_read_the_numbers(script):
    found = gemmbench.run("naive", sizes=64, device=script(faults={"naive": "zero"}), out=None)._repr_html_()
    shown, _, folded = found.partition("<details>")
    assert "naive BX=16 BY=16: wrong" in shown and "<p>Time:" not in shown
    assert "<p>Time:" in folded and "<p>Device:" in folded and folded.endswith("</details>")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'autotune'"):
        gemmbench.autotune  # noqa: B018
    assert {*gemmbench.__all__} <= set(dir(gemmbench))
    for name in gemmbench.__all__:
        assert getattr(gemmbench, name)


def test_a_run_needs_no_click_and_an_import_nothing_at_all():
    code = """
import gemmbench, sys
print('numpy' in sys.modules, 'rich' in sys.modules)
gemmbench.run('naive', sizes=16, device='fake', out=None, rounds=2)
print('click' in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "False"]


def test_a_script_without_a_main_guard_runs_once(script, folder):
    device = script(isolated=True, faults={"tiled": "die"})
    (folder / "plain.py").write_text(
        f"print('once')\nimport gemmbench\n"
        f"result = gemmbench.run(['naive', 'tiled'], sizes=16, device={device!r}, out=None, rounds=2)\n"
        f"print([record.status for record in result.records])\n"
    )
    found = subprocess.run([sys.executable, "plain.py"], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout == "once\n['ok', 'failed', 'ok']\n"


def test_the_notebook_runs_on_the_cpu_and_every_cell_has_a_heading_or_code(folder, capsys, monkeypatch):
    monkeypatch.setattr(context, "_FIRST_WARM_SECONDS", 0.03)
    monkeypatch.setattr(context, "WARM_SECONDS", 0.03)
    runpy.run_path(NOTEBOOK, run_name="__main__")
    printed = capsys.readouterr().out
    assert all(
        words in printed for words in ("says nothing about a GPU", " - 32, on the CPU device", "did you mean 'tiled'")
    )
    assert not (folder / "results").exists()
    cells = NOTEBOOK.read_text().split("# %%")[1:]
    assert len(cells) >= 10 and all(cell.partition("\n")[2].strip() for cell in cells)


@pytest.mark.parametrize(("phase", "ok"), [("ranking", True), ("sweep", False)])
def test_a_short_load_that_fails_does_not_make_a_run_bad(environment, make_record, phase, ok):
    failed = make_record("cublaslt", status="out of memory", phase=phase)
    results = RunResults(Run(environment, [failed, make_record("cublaslt", [1e-3] * 2)]))
    assert (results.ok, len(results.records)) == (ok, 1 if ok else 2)


def test_it_returns_the_winner_and_keeps_it():
    found = gemmbench.tune("tiled", sizes=16, params={"TILE": [8, 16]}, device="fake", out=None, rounds=10)
    assert found.ok and found.path is None
    assert found.best[("tiled", "16 nn f32")]["TILE"] in (8, 16)
    assert "tiled at 16 nn f32: best TILE=" in found.table()
    again = gemmbench.run("tiled", sizes=16, device="fake", out=None, rounds=4, tuned=True)
    assert again.records[0].config == found.best[("tiled", "16 nn f32")]


def test_the_results_file_records_the_command():
    found = gemmbench.tune("tiled", sizes=16, device="fake", rounds=4, budget=2, strategy="random", seed=1)
    words = found.environment.command.split()
    assert words[:3] == ["gemmbench", "tune", "tiled"] and "--budget" in words and "--strategy" in words


@pytest.mark.parametrize("options", [{"with_transfers": True}, {"budget": 1}, {"goal": "speed"}, {"strategy": "grid"}])
def test_a_bad_argument_is_refused(options):
    with pytest.raises(UsageError):
        gemmbench.tune("tiled", sizes=16, device="fake", out=None, **options)


def test_an_interrupted_call_says_how_to_go_on(monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("gemmbench.session.open_run.OpenRun.finish", stop)
    with pytest.raises(KeyboardInterrupt, match="; continue with: gemmbench run --resume-from results/"):
        gemmbench.run("naive", sizes=16, device="fake", progress=False)
    with pytest.raises(KeyboardInterrupt) as caught:
        gemmbench.run("naive", sizes=16, device="fake", out=None, progress=False)
    assert not caught.value.args
