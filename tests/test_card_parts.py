"""The part of the manual that compares two cards."""

import msgspec
import pytest

from gemmbench.errors import StoreError
from tools.page import ROOT, Page
from tools.parts import KINDS, tables

WORDS = "one/*-quick.jsonl", "two/*-quick.jsonl"
RESULTS = sorted((ROOT / "results" / "nvidia-h200").glob("*-quick.jsonl"))[-1]


@pytest.fixture
def write_card(tmp_path, monkeypatch):
    """Write results of the H200 as those of another device, which is `speed` times as fast."""
    monkeypatch.setattr(tables, "ROOT", tmp_path)

    def write(folder, speed=1.0, **changed):
        head, *records = map(msgspec.json.decode, RESULTS.read_bytes().splitlines())
        for record in records:
            if record.get("samples"):
                record["samples"] = [seconds / speed for seconds in record["samples"]]
        path = tmp_path / folder / "2026-01-01-quick.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\n".join(map(msgspec.json.encode, [head | changed, *records])) + b"\n")

    return write


def compare_cards(*words):
    """The cells of each line of the table, by heading, and the lines below it."""
    lines = KINDS["cards"](Page(ROOT / "docs" / "page.md", KINDS), *WORDS, *words).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]], [each for each in lines if each[:1] == "-"]


def test_each_kernel_has_its_fastest_row_on_both_cards(write_card):
    write_card("one", device="Slow GPU")
    write_card("two", speed=1.25, device="Fast GPU")
    rows, notes = compare_cards()
    assert {row["speed of Fast GPU / Slow GPU"] for row in rows} == {"1.25"}
    assert {"naive", "tiled", "cublas"} <= {row["kernel"] for row in rows}
    assert len({(row["problem"], row["kernel"]) for row in rows}) == len(rows)
    for row in rows:
        slow, fast = (float(row[f"{name} GPU GFLOP/s"]) for name in ("Slow", "Fast"))
        assert fast / slow == pytest.approx(1.25, rel=0.02)
        assert row["Slow GPU % of cublas"] == row["Fast GPU % of cublas"] != "-"
    assert [note[:12] for note in notes].count("- Time: mean") == 1
    assert [note.split(" (")[0] for note in notes[-2:]] == ["- Device: Slow GPU", "- Device: Fast GPU"]


def test_kernels_can_be_chosen(write_card):
    write_card("one", device="Slow GPU")
    write_card("two", device="Fast GPU")
    assert {row["kernel"] for row in compare_cards("only=tiled,cublas", "squares")[0]} == {"tiled", "cublas"}


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({}, "both files are of the NVIDIA H200"),
        ({"device": "Fast GPU", "sweep": "sgemm"}, "of two sweeps, quick and sgemm"),
    ],
)
def test_files_that_cannot_be_compared_are_refused(write_card, changed, fault):
    write_card("one")
    write_card("two", **changed)
    with pytest.raises(StoreError, match=fault):
        compare_cards()


def test_cards_without_a_common_row_are_refused(write_card):
    write_card("one")
    write_card("two", device="Fast GPU")
    with pytest.raises(StoreError, match="no ranked row in common"):
        compare_cards("only=unknown")
