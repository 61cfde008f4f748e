"""`gemmbench posts` from end to end on the fake device."""

import pytest

from gemmbench.report.store.reading import read_results

from .conftest import cut_after

FAST = ["--rounds", "2", "--cache", "hot", "--device", "fake"]


def test_a_post_is_repeated_and_told_again_from_its_file(gemmbench, saved):
    said = gemmbench("posts", "004", "--sizes", "64", *FAST)
    assert said.code == 0, said.err
    assert said.out.startswith("CUDA 007 - GEMM") and "gemm_block_tiling_v4" in said.out
    assert gemmbench("posts", "--results", saved()[0]).out == said.out
    cut_after(saved()[0], 1)
    assert ": the run is not finished: it has 1 of " in gemmbench("posts", "--results", saved()[0]).err


def test_the_network_has_the_title_of_its_config(gemmbench, saved):
    said = gemmbench("posts", "003-neural-network", *FAST)
    assert said.code == 0, said.err
    assert said.out.startswith("Building a matrix-multiplication kernel from scratch: 784-100-100-10, ")
    assert gemmbench("posts", "--results", saved()[0]).out == said.out


def test_the_network_takes_parameters_and_a_baseline(gemmbench, saved):
    said = gemmbench("posts", "003-neural-network", "--param", "TILE=8", "--baseline", "tiled", *FAST)
    assert said.code == 0, said.err
    rows = saved()[1]
    assert {row["config"] for row in rows if row["variant"] == "tiled"} == {"TILE=8"}
    assert {row["baseline"] for row in rows} == {"tiled"}


@pytest.mark.parametrize("option", [["--sizes", "64"], ["--precision", "f64"]])
def test_the_network_refuses_sizes_and_precisions(refused, option):
    message = refused("posts", "003", *option, *FAST)
    assert message.startswith(f"{option[0]}: post 003-neural-network is a network with its own sizes")


@pytest.mark.parametrize("option", ["--with-transfers", "--wide", "--export-csv=x.csv"])
def test_posts_refuses_what_it_would_not_do(gemmbench, option):
    said = gemmbench("posts", "004", option, "--device", "fake")
    assert said.code == 2 and "No such option" in said.err


def test_of_all_posts_the_network_is_left_out_with_a_message(gemmbench):
    said = gemmbench("posts", "--sizes", "16", *FAST)
    assert said.code == 0, said.err
    assert "post 003-neural-network is left out: it is a network, which does not take --sizes" in said.err
    assert "784-100-100-10" not in said.out and "CUDA 007 - GEMM" in said.out


def test_a_dry_run_plans_every_post_and_measures_none(gemmbench, tmp_path, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    said = gemmbench("posts", "004", "003-neural-network", "--dry-run", "--device", "fake")
    assert said.code == 0 and said.err == ""
    titles = [line for line in said.out.splitlines() if line.startswith("00")]
    assert titles == ["004-gemm", "003-neural-network: 784-100-100-10, relu relu softmax, batch 256, f32"]
    lines = said.out.splitlines()
    assert sum(line.startswith("About ") for line in lines) == 2
    assert lines[-1].startswith("All posts: about ") and lines[-1].endswith(" on Fake GPU.")
    assert not (tmp_path / "results").exists()


def test_posts_are_resumed_where_they_were_cut_off(gemmbench, tmp_path):
    gemmbench("posts", "000-cuda", "001", "004", "--sizes", "64", *FAST)
    first, second, third = sorted((tmp_path / "results").glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    before = first.read_bytes()
    cut_after(second, 1)
    third.unlink()
    said = gemmbench("posts", "--resume")
    assert said.code == 0, said.err
    assert f"resuming results/{second.name}, which has 1 row: gemmbench posts 000-cuda 001 004 --sizes 64 " in said.err
    assert "CUDA 007 - GEMM" in said.out and first.read_bytes() == before
    runs = [read_results(path) for path in (tmp_path / "results").glob("*.jsonl")]
    posts = [f"posts/{name}" for name in ("000-cuda-matmul", "001-warptile", "004-gemm")]
    assert sorted(run.environment.post for run in runs) == posts
    assert all(run.finished for run in runs)
    assert "nothing to resume" in gemmbench("posts", "--resume").err


def test_a_post_that_is_not_asked_for_is_not_resumed(gemmbench, saved):
    gemmbench("posts", "004", "--sizes", "64", *FAST)
    cut_after(saved()[0], 1)
    said = gemmbench("posts", "001", "--resume")
    assert said.code == 2 and "not one of the selected posts; start a new run" in said.err
