"""Compressed results files: every command that reads results reads them, and nothing is added to one."""

import pytest

import gemmbench as interface
from gemmbench.report.store.compression import compress_results

from .conftest import cut_after

FAST = ["--rounds", "10", "--cache", "hot"]


@pytest.fixture
def two_runs(gemmbench, script, tmp_path):
    """The results files of two runs on one device; the second is slower."""
    for folder, seconds in (("before", 2e-3), ("after", 3e-3)):
        device = script(times={"tiled": seconds, "cublas": 1e-3})
        gemmbench("run", "tiled", "--device", device, "--sizes", "16", *FAST, "--out", folder)
    return [next((tmp_path / folder).glob("*.jsonl")) for folder in ("before", "after")]


@pytest.fixture
def main(gemmbench, tmp_path):
    """A compressed run that was saved as main."""
    gemmbench("run", "tiled", "--device", "fake", "--sizes", "16", *FAST, "--save", "main")
    return compress_results(tmp_path / "results/saved/main.jsonl")


@pytest.mark.parametrize(
    "words",
    [
        "show BEFORE --wide",
        "show BEFORE --explain tiled",
        "show BEFORE --export-csv x",
        "compare BEFORE AFTER",
        "report BEFORE --against AFTER -o x",
        "plot BEFORE AFTER -o x.svg",
    ],
)
def test_a_command_shows_the_same_of_a_compressed_file(gemmbench, two_runs, tmp_path, words):
    def call(*paths):
        named = dict(zip(("BEFORE", "AFTER"), paths, strict=True))
        said = gemmbench(*(named.get(word, word) for word in words.split()))
        written = [path.read_text().replace(".jsonl.gz", ".jsonl") for path in sorted(tmp_path.glob("x*"))]
        return said.code, said.out.replace(".jsonl.gz", ".jsonl"), said.err.replace(".jsonl.gz", ".jsonl"), written

    plain = call(*two_runs)
    assert plain[0] == 0
    assert call(*map(compress_results, two_runs)) == plain


def test_the_chart_of_a_compressed_file_has_its_name(gemmbench, two_runs):
    path = compress_results(two_runs[0])
    assert gemmbench("plot", path).code == 0
    assert [each.name for each in path.parent.glob("*.svg")] == [path.name.replace(".jsonl.gz", "-ladder.svg")]


def test_posts_shows_a_compressed_run(gemmbench, saved):
    gemmbench("posts", "004", "--device", "fake", "--sizes", "64", *FAST)
    path = saved()[0]
    plain = gemmbench("posts", "--results", path)
    assert plain.code == 0 and gemmbench("posts", "--results", compress_results(path)).out == plain.out


def test_a_compressed_run_is_found_by_id_and_listed_once(gemmbench, two_runs):
    path = two_runs[0]
    copy = path.read_bytes()
    packed = compress_results(path)
    folder, name = packed.parent, packed.name.removesuffix(".jsonl.gz").rpartition("-")[2]
    assert gemmbench("show", name, "--out", folder).code == 0
    assert f"showing the newest file of {folder}: {packed}" in gemmbench("show", "--out", folder).err
    assert gemmbench("show", folder).out.count(name) == 2  # in the table, and in how to show it
    path.write_bytes(copy)
    assert gemmbench("show", folder).out.count(name) == 2
    assert gemmbench("show", name, "--out", folder).code == 0


def test_a_compressed_saved_run_keeps_its_name(gemmbench, main):
    assert gemmbench("show", "main").code == 0
    assert " main " in gemmbench("show", "results").out
    for words in ((), ("--against", "main")):
        said = gemmbench("check", "tiled", "--device", "fake", *words)
        assert said.code == 0 and "checking against main, measured 20" in said.err
    assert "(did you mean 'main'?); saved runs in results: main" in gemmbench("show", "mein").err


def test_saving_a_run_again_replaces_the_compressed_one(gemmbench, main):
    said = gemmbench("run", "tiled", "--device", "fake", "--sizes", "16", *FAST, "--save", "main")
    assert "saved as main: results/saved/main.jsonl, which replaces the run of 20" in said.err
    assert [path.name for path in main.parent.iterdir()] == ["main.jsonl"]


def test_a_compressed_run_is_not_resumed(gemmbench, run_naive, saved):
    run_naive()
    path = saved()[0]
    cut_after(path, 2)
    packed = compress_results(path)
    before = packed.read_bytes()
    said = gemmbench("run", "--resume-from", packed)
    message = f"{packed}: compressed, so no row can be added to it; run gunzip {packed}, then resume {path}"
    assert (said.code, said.err) == (2, f"gemmbench: {message}\n")
    assert f"--resume takes no file; use --resume-from {packed}" in gemmbench("run", packed, "--resume").err
    newest = gemmbench("run", "--resume")
    assert newest.code == 2 and "; those that are compressed do not count, name a file with" in newest.err
    with pytest.raises(interface.UsageError, match="compressed, so no row can be added"):
        interface.run("naive", device="fake", resume=packed)
    assert packed.read_bytes() == before


def test_load_reads_a_compressed_file(two_runs):
    plain = interface.load(two_runs[0]).records
    assert interface.load(compress_results(two_runs[0])).records == plain
