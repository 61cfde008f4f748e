"""The part of the manual that shows a whole sweep at a glance."""

import pytest

from gemmbench.errors import StoreError
from tools.page import ROOT, Page
from tools.parts import KINDS

PEERS = "results/nvidia-h200/*-peers.jsonl"


def read_overview(precision):
    """The cells of each line, by heading."""
    lines = KINDS["overview"](Page(ROOT / "docs" / "page.md", KINDS), PEERS, precision).splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def test_each_kernel_has_its_fastest_row_at_each_size():
    found = read_overview("bf16")
    assert {"cublas", "cutlass_sm90", "triton_matmul"} <= set(found) and "sgemm" not in found
    assert set(found["cublas"].values()) == {"100"}
    for cells in found.values():
        assert list(cells) == ["1024", "2048", "4096", "8192"]
        assert all(20 < float(cell.split()[0]) < 150 for cell in cells.values())


def test_a_precision_that_the_sweep_lacks_is_refused():
    with pytest.raises(StoreError, match="no ranked row in f64"):
        read_overview("f64")
