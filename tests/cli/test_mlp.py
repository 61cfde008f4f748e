"""`gemmbench mlp`, on the fake device and on the CPU."""

import json

import pytest

from gemmbench.report.store.reading import read_results

from .conftest import cut_after

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
def call(gemmbench, script, tmp_path, monkeypatch):
    """Run `mlp` with a small network, whose times are known on the fake device."""
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "net.yaml").write_text(CONFIG)
    fake = script(times={"tiled": 4.0e-5, "cublas+graph": 2.0e-5, "mlp_fused": 5.0e-6})
    return lambda *arguments, device=fake: gemmbench("mlp", "-c", "net.yaml", "--device", device, *arguments)


@pytest.fixture
def journal(call, tmp_path):
    """The results file of a run of three rows."""
    call("--rounds", "10")
    return next((tmp_path / "results").glob("*.jsonl"))


def fault(said):
    """The message of a usage error."""
    assert (said.code, said.out) == (2, "")
    return said.err.removeprefix("gemmbench: ").rstrip("\n")


def test_the_table_compares_with_the_graph(call):
    said = call("--rounds", "10", "--notes")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0] == "12-8-3, relu softmax, batch 5, f32"
    fused = next(line.split() for line in lines if " mlp_fused " in line)
    assert "0.005000" in fused and "4.000" in fused
    assert any("tiles" in line and "43.22" in line and "0.04000" in line for line in lines)
    assert "x cublas+graph: times as fast, in the same rounds. Rows are verified before they are timed." in lines


def test_results_are_kept_shown_and_exported(call, gemmbench, saved, tmp_path):
    call("--rounds", "2", "--export-json", "out.json")
    journal, rows = saved()
    assert [record.variant for record in read_results(journal).records] == ["tiled", "mlp_fused", "cublas+graph"]
    assert {row["network"] for row in rows} == {"12-8-3, relu softmax, batch 5"}
    assert rows[0]["launched"] == "tiled+bias+relu, tiled+bias, softmax+softmax"
    assert float(rows[0]["gflops"]) == pytest.approx(2 * 5 * (12 * 8 + 8 * 3) / 4e-5 / 1e9)
    assert json.loads((tmp_path / "out.json").read_text())["rows"][1]["variant"] == "cublas+graph"
    shown = gemmbench("show", journal, "--format", "github").out
    assert "### 12-8-3" in shown and "x cublas+graph |" in shown


def test_a_dry_run_lists_what_each_row_launches(call):
    said = call("tiled", "mlp_fused", "--param", "ROWS=1,2", "--dry-run")
    assert "tiled+bias+relu, tiled+bias, softmax+softmax" in said.out
    assert said.out.count("mlp_fused ") == 2


def test_the_same_command_runs_on_the_cpu(call):
    said = call("--rounds", "1", "--max-time", "0.01", device="cpu")
    assert said.code == 0, said.err
    assert [line.split()[0] for line in said.out.splitlines()[4:6]] == ["cpu_naive", "mlp_fused"]


def test_a_kernel_of_networks_is_no_row_of_run(gemmbench):
    said = " ".join(gemmbench("run", "mlp_fused", "--device", "fake", "--dry-run").out.split())
    assert "skipped 2: mlp_fused: computes a whole network, not a GEMM; use gemmbench mlp mlp_fused" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "0"], "--batch 0: 0 is not positive; a batch needs at least one row"),
        (["tilde"], "unknown kernel 'tilde' (did you mean 'tiled'"),
        (["--weights", "gone.npz"], "weights: no file gone.npz"),
        (["--param", "ROW=3"], "none of the chosen kernels has a parameter 'ROW' (did you mean 'ROWS'?)"),
        (["--param", "ROWS"], "cannot parse --param 'ROWS'"),
        (["--rounds", "0"], "rounds: 0 is below 1"),
        (["--baseline", "cublass"], "unknown kernel 'cublass'"),
        (["--digit", "1"], "--digit: these weights come without digits"),
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
def test_an_image_of_the_digit_is_shown_and_read(gemmbench, digit):
    said = gemmbench("mlp", "mlp_fused", "--device", "fake", "--digit", digit)
    assert said.code == 0, said.err
    assert said.out.splitlines()[-1] == f"mlp_fused reads {digit}: right"


def test_a_digit_without_an_image_is_refused(gemmbench):
    said = gemmbench("mlp", "mlp_fused", "--device", "fake", "--digit", "10")
    assert fault(said) == "--digit 10: there are only test images of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9"


def test_a_run_without_its_last_line_is_finished_without_measuring(call, gemmbench, journal):
    shown = gemmbench("show", journal).out
    cut_after(journal, 3)
    again = call("--resume")
    assert (again.code, again.out) == (0, shown) and "resuming results/" in again.err


def test_rows_of_another_network_are_not_mixed_in(call, journal):
    cut_after(journal, 1)
    message = fault(call("--rounds", "10", "--batch", "6", "--resume"))
    assert message.endswith("another experiment: this run lacks 3 of its 3 rows; start a new run without --resume")


def test_rows_of_other_code_are_not_mixed_in(call, journal):
    cut_after(journal, 2)
    journal.write_text(journal.read_text().replace('"artifact":"fake-tiled', '"artifact":"fake-other'))
    assert "\ngemmbench: tiled was measured with different code" in fault(call("--rounds", "10", "--resume"))
