"""Launchers on a GPU: right ones in several forms, and those that do what a launch must not, each in its row."""

from pathlib import Path

import pytest
import yaml

from tests.gpu.foreign_runs import run_among_healthy

FOLDER = Path(__file__).parents[1] / "foreign" / "launchers"
EXPECTED = yaml.safe_load((FOLDER / "expected.yaml").read_text())
RIGHT = [name for name, wanted in EXPECTED.items() if wanted["status"] == "ok"]


def run(folder, names, *options):
    """The records of a run of these launchers; all runs share what is compiled."""
    pytest.importorskip("cuda.bindings")
    options = "--kernels", FOLDER, *options, "--max-time", "0.5", "--launch-limit", "5"
    return run_among_healthy(folder, names, *options, cache=folder.parent / "cache")


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    """All launchers, with C read and the default configuration."""
    options = "--sizes", "36x132x136", "--alpha", "1.5", "--beta", "-0.5", "--rounds", "2"
    return run(tmp_path_factory.mktemp("verified"), EXPECTED, *options)


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """The right ones, timed and audited as a kernel is."""
    return run(tmp_path_factory.mktemp("timed"), RIGHT, "--sizes", "256", "--rounds", "10")


@pytest.mark.parametrize("name", EXPECTED)
def test_each_launcher_ends_in_its_row_with_its_words(verified, name):
    row, wanted = verified[name], EXPECTED[name]
    assert (row["status"], wanted["words"] in row["reason"]) == (wanted["status"], True), row["reason"]


@pytest.mark.parametrize("name", RIGHT)
def test_a_short_launch_is_timed_in_a_graph_behind_the_gate(timed, name):
    row = timed[name]
    assert (row["status"], row["graph"], row["gated"]) == ("ok", True, True), row["reason"]
    assert 1e-6 < min(row["samples"]) < 1e-3


def test_the_bytes_that_a_host_function_returns_are_in_the_record(verified, timed):
    assert verified["host_workspace"]["workspace"] == 256 + 4 * 36 * 132 * 4
    assert timed["host_workspace"]["workspace"] == 256 + 4 * 256 * 256 * 4
    assert timed["plain_launcher"]["workspace"] == 0


def test_a_launcher_has_the_facts_of_its_kernel(timed):
    assert timed["plain_launcher"]["registers"] > 0 and timed["plain_launcher"]["spills"] == 0


@pytest.mark.parametrize("size", ["33x65x17", "1", "200x36x1000"])
def test_they_are_right_at_odd_sizes_and_in_other_configurations(tmp_path, size):
    folder = tmp_path / "odd"
    folder.mkdir()
    names = ["plain_launcher", "other_arguments", "host_workspace"]
    rows = run(folder, names, "--sizes", size, "--param", "PARTS=3", "--rounds", "2")
    assert {rows[name]["status"] for name in names} == {"ok"}, rows
