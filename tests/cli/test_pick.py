"""Variants that dispatch, on the command line."""

import csv
import json
from pathlib import Path

import pytest

from .conftest import cut_after

KERNELS = Path(__file__).parents[1] / "kernels"
HERE = ("--device", "fake", "--kernels", KERNELS)


def test_a_row_keeps_its_name_and_says_what_was_picked(gemmbench, tmp_path):
    said = gemmbench("run", "dispatch", "tma", "--sizes", "16,64", *HERE, "--export-csv", "out.csv", "--rounds", "2")
    assert said.code == 0
    lines = [line.split("  ") for line in said.out.splitlines() if line.startswith("dispatch ")]
    assert [[cell.strip() for cell in line if cell][1] for line in lines] == ["split_k: SPLITS=3", "tma: SWIZZLE=0"]
    with (tmp_path / "out.csv").open() as file:
        rows = {row["config"] for row in csv.DictReader(file) if row["variant"] == "dispatch"}
    assert rows == {"split_k: SPLITS=3", "tma: SWIZZLE=0"}
    saved = [json.loads(line) for line in next(tmp_path.glob("results/*.jsonl")).read_text().splitlines()]
    picked = [(row["config"], row["picked"]) for row in saved if row.get("variant") == "dispatch"]
    assert picked == [({"SPLITS": 3}, "split_k"), ({"SWIZZLE": 0}, "tma")]


def test_it_is_compared_verified_and_listed_like_any_other(gemmbench):
    compared = gemmbench("compare", "dispatch", "tma", "--sizes", "64", *HERE, "--rounds", "16", "--out", "out")
    assert compared.code == 0 and "dispatch" in compared.out.splitlines()[-1]
    verified = gemmbench("verify", "dispatch", "--sizes", "16,64", *HERE)
    assert verified.code == 0 and verified.out.splitlines()[2].split()[:3] == ["dispatch", "3", "8"]
    on_cpu = json.loads(gemmbench("list", "--device", "cpu", "--kernels", KERNELS, "--json").out)
    rows = {row["name"]: row for row in on_cpu}
    assert rows["dispatch"]["ready"] and rows["dispatch"]["configurations"] == 1
    assert rows["tma"]["reason"].startswith("needs a GPU with TMA: ")


def test_a_run_can_be_resumed(gemmbench, saved):
    first = gemmbench("run", "dispatch", "--sizes", "16,64", *HERE, "--rounds", "2")
    journal, _ = saved()
    cut_after(journal, 2)  # the rows of the first size
    again = gemmbench("run", "dispatch", "--sizes", "16,64", *HERE, "--rounds", "2", "--resume")
    assert (first.code, again.code) == (0, 0) and again.out == first.out


def test_the_whole_job_is_measured_in_panels_of_the_picked_kernel(gemmbench):
    said = gemmbench("run", "dispatch", "--sizes", "64", *HERE, "--rounds", "2", "--with-transfers")
    assert said.code == 0 and said.out.count("tma: SWIZZLE=0") == 5  # itself, and its four modes


def test_what_cannot_be_picked_is_told_with_its_place(gemmbench, write_kernel):
    write_kernel("best.cu", symbol=None, grid=None, block=None, body="", pick=["variant: nive"])
    said = gemmbench("run", "best", "--device", "fake", "--kernels", "kernels")
    assert said.code == 2
    assert said.err.strip().endswith("kernels/best.cu:7: pick: 'nive' is not a kernel (did you mean 'naive'?)")


@pytest.mark.usefixtures("warm_compiler")
def test_inspect_has_a_row_for_every_kernel_that_is_launched(gemmbench):
    said = gemmbench("inspect", "dispatch", "--kernels", KERNELS, "--sizes", "16", "--arch", "90")
    rows = [line.split() for line in said.out.splitlines()[2:4]]
    assert [row[:6] for row in rows] == [
        ["16", "nn", "f32", "split_k:", "SPLITS=3", "parts"],
        ["16", "nn", "f32", "split_k:", "SPLITS=3", "total"],
    ]
