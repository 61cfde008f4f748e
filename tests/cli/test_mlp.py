"""`gemmbench mlp`, on the fake device and on the CPU."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

from gemmbench.cli import group
from gemmbench.errors import GemmbenchError
from gemmbench.report.store.reading import read_results

CONFIG = """
layers: [12x8, 8x3]
activations: [relu, softmax]
batch: 5
rows:
  - {variant: tiled, label: tiles, published_ms: 43.22}
  - cublas+graph
  - mlp_fused
baseline: cublas+graph
on_cpu: {rows: [cpu_naive, mlp_fused], baseline: cpu_naive}
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "net.yaml").write_text(CONFIG)
    script = "times: {tiled: 4.0e-5, cublas+graph: 2.0e-5, mlp_fused: 5.0e-6}\n"
    (tmp_path / "script.yaml").write_text(script)

    def run(*arguments: str, device: str = "fake:script.yaml"):
        return CliRunner().invoke(
            group, ["mlp", "-c", "net.yaml", "--device", device, *arguments], standalone_mode=False
        )

    return run


def fault(result) -> str:
    assert isinstance(result.exception, GemmbenchError), result.output
    assert result.exception.exit_code == 2
    return str(result.exception)


def test_the_table_compares_with_the_graph(call):
    result = call("--rounds", "10")
    assert (result.return_value, result.exception) == (0, None)
    lines = result.stdout.splitlines()
    assert lines[0] == "12-8-3, relu softmax, batch 5, f32"
    fused = next(line.split() for line in lines if " mlp_fused " in line)
    assert "0.005000" in fused
    assert "4.000" in fused
    assert any("tiles" in line and "43.22" in line and "0.04000" in line for line in lines)
    assert "x cublas+graph: times as fast, in the same rounds. Rows are verified before they are timed." in lines


def test_results_are_kept_shown_and_exported(call, tmp_path):
    call("--rounds", "2", "--export-json", "out.json")
    (journal,) = (tmp_path / "results").glob("*.jsonl")
    run = read_results(journal)
    assert [record.variant for record in run.records] == ["tiled", "mlp_fused", "cublas+graph"]
    rows = list(csv.DictReader(journal.with_suffix(".csv").read_text().splitlines()))
    assert {row["network"] for row in rows} == {"12-8-3, relu softmax, batch 5"}
    assert rows[0]["launched"] == "tiled+bias+relu, tiled+bias, softmax+softmax"
    assert float(rows[0]["gflops"]) == pytest.approx(2 * 5 * (12 * 8 + 8 * 3) / 4e-5 / 1e9)
    assert json.loads((tmp_path / "out.json").read_text())["rows"][1]["variant"] == "cublas+graph"
    shown = CliRunner().invoke(group, ["show", str(journal), "--format", "github"], standalone_mode=False)
    assert "### 12-8-3" in shown.stdout
    assert "x cublas+graph |" in shown.stdout


def test_a_dry_run_lists_what_each_row_launches(call):
    result = call("tiled", "mlp_fused", "--param", "ROWS=1,2", "--dry-run")
    assert "tiled+bias+relu, tiled+bias, softmax+softmax" in result.stdout
    assert result.stdout.count("mlp_fused ") == 2


def test_the_same_command_runs_on_the_cpu(call):
    result = call("--rounds", "1", "--max-time", "0.01", device="cpu")
    assert result.return_value == 0, result.output
    assert [line.split()[0] for line in result.stdout.splitlines()[4:6]] == ["cpu_naive", "mlp_fused"]


def test_a_kernel_of_networks_is_no_row_of_run():
    result = CliRunner().invoke(group, ["run", "mlp_fused", "--device", "fake", "--dry-run"], standalone_mode=False)
    assert "skipped 2: mlp_fused: computes a whole network, not a GEMM; use gemmbench mlp mlp_fused" in " ".join(
        result.stdout.split()
    )


def test_list_marks_what_computes_a_network():
    result = CliRunner().invoke(group, ["list", "--device", "fake"], standalone_mode=False)
    marked = [line.split()[0] for line in result.stdout.splitlines() if " in mlp " in line]
    assert marked == ["mlp_fused", "mlp_cluster"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "0"], "--batch 0: 0 is not positive; a batch needs at least one row"),
        (["tilde"], "unknown variant 'tilde' (did you mean 'tiled'?)"),
        (["--weights", "gone.npz"], "weights: no file gone.npz"),
        (["--param", "ROW=3"], "no chosen variant has a parameter 'ROW' (did you mean 'ROWS'?)"),
        (["--param", "ROWS"], "cannot parse --param 'ROWS'"),
        (["--rounds", "0"], "rounds: 0 is below 1"),
        (["--baseline", "cublass"], "unknown variant 'cublass'"),
        (["--digit", "1"], "--digit: these weights have no digits"),
        (["--batch", str(10**9)], "more than 2147483647 elements"),
    ],
)
def test_bad_input_is_a_usage_error_with_the_fix(call, arguments, message):
    assert message in fault(call(*arguments))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("8x3", "9x3", "net.yaml:2: layers: 9x3 does not fit 12x8"),
        ("softmax]", "softmin]", "net.yaml:3: activations: unknown 'softmin' (did you mean 'softmax'?)"),
        ("batch: 5", "batch: 0", "net.yaml:4: batch: 0 is not positive"),
        ("label: tiles", "labels: tiles", "unknown key 'labels'"),
    ],
)
def test_a_bad_config_is_told_by_line(call, tmp_path, old, new, message):
    (tmp_path / "net.yaml").write_text(CONFIG.replace(old, new))
    assert message in fault(call())


@pytest.mark.parametrize("digit", range(10))
def test_an_image_of_the_digit_is_shown_and_read(digit):
    command = ["mlp", "mlp_fused", "--device", "fake", "--digit", str(digit)]
    result = CliRunner().invoke(group, command, standalone_mode=False)
    assert result.return_value == 0, result.output
    assert result.stdout.splitlines()[-1] == f"mlp_fused reads {digit}: right"


def test_a_digit_without_an_image_is_refused():
    command = ["mlp", "mlp_fused", "--device", "fake", "--digit", "10"]
    beyond = CliRunner().invoke(group, command, standalone_mode=False)
    assert fault(beyond) == "--digit 10: there are test images of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9"


def journal(tmp_path):
    (found,) = (tmp_path / "results").glob("*.jsonl")
    return found


def cut_after(path, rows):
    """Leave the header and so many rows."""
    path.write_text("".join(path.read_text().splitlines(keepends=True)[: 1 + rows]))


def test_a_finished_run_is_not_resumed(call, tmp_path):
    call("--rounds", "10")
    before = journal(tmp_path).read_bytes()
    assert fault(call("--rounds", "10", "--resume")).startswith("nothing to resume: ")
    assert journal(tmp_path).read_bytes() == before


def test_a_run_without_its_last_line_is_finished_without_measuring(call, tmp_path):
    first = call("--rounds", "10")
    cut_after(journal(tmp_path), 3)
    again = call("--resume")
    assert (again.return_value, again.stdout) == (0, first.stdout)
    assert "resuming results/" in again.stderr


def test_a_run_that_was_cut_off_is_completed(call, tmp_path):
    call("--rounds", "10")
    cut_after(journal(tmp_path), 1)
    assert call("--rounds", "10", "--resume").return_value == 0
    names = [record.variant for record in read_results(journal(tmp_path)).records]
    assert sorted(names) == ["cublas+graph", "mlp_fused", "tiled"]


def test_rows_of_another_network_are_not_mixed_in(call, tmp_path):
    call("--rounds", "10")
    cut_after(journal(tmp_path), 1)
    message = fault(call("--rounds", "10", "--batch", "6", "--resume"))
    assert message.endswith("another experiment: this run lacks 3 of its 3 rows; start a new run without --resume")


def test_rows_of_other_code_are_not_mixed_in(call, tmp_path):
    call("--rounds", "10")
    path = journal(tmp_path)
    cut_after(path, 2)
    path.write_text(path.read_text().replace('"artifact":"fake-tiled', '"artifact":"fake-other'))
    assert fault(call("--rounds", "10", "--resume")).startswith("tiled was measured with other code")
