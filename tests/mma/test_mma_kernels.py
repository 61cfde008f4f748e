"""The kernels for mma.sync without a GPU: shuffles do the product of a warp."""

import shutil
from pathlib import Path

import pytest

import gemmbench
from gemmbench.planning.files import data_folder

SHAPES = [(5, 136, 200), (19, 75, 168), (70, 8, 77), (67, 21, 66), (131, 1, 4101)]
HERE = Path(__file__).parent
LAYOUTS = ("nn", "nt", "tn", "tt")
SMALL = {"BM": 64, "BN": 64, "WM": 32, "WN": 32}


@pytest.fixture
def verify(tmp_path, monkeypatch):
    """Verify a kernel with a product that the CPU can compute, in the current folder: code is cached with its path."""
    monkeypatch.chdir(tmp_path)
    for name in ("tensor", "common"):
        shutil.copytree(data_folder("cuda") / name, name, ignore=shutil.ignore_patterns("*.cu"))
    shutil.copy(HERE / "mma.cuh", "tensor")

    def run(kernel, copies="copies.cuh", change=("", ""), **wanted):
        shutil.copy(HERE / copies, "tensor/copies.cuh")
        text = (data_folder("cuda") / "tensor" / f"{kernel}.cu").read_text()
        Path(f"tensor/{kernel}_on_cpu.cu").write_text(text.replace("min_sm: 80\n", "").replace(*change))
        return gemmbench.verify(f"{kernel}_on_cpu", device="cpu", kernels=".", progress=False, **wanted)

    return run


def assert_right(done):
    assert done.ok, done.failures[:3]
    assert done.records


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("params", "shapes"), [({"LINES": 8, "AHEAD": 1}, SHAPES), ({"LINES": 16, "AHEAD": 2}, SHAPES[:-1])]
)
def test_a_narrow_c_is_right(verify, layout, params, shapes):
    chosen = {"WARPS": 4, "BLOCKS": 1, **params}
    assert_right(verify("mma_stream", sizes=shapes, precision="bf16", layout=layout, params=chosen))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("precision", ["bf16", "tf32"])
@pytest.mark.parametrize(
    "params", [{**SMALL, "STAGES": 2}, {**SMALL, "STAGES": 3, "SPLIT_K": 4}, {"BM": 64, "WM": 32, "SPLIT_K": 2}]
)
def test_rows_of_any_length_are_right(verify, layout, precision, params):
    """Rows of 2, 4, 8 and 16 bytes times an odd number, and a K of many steps."""
    sizes = [(67, 71, 65), (70, 34, 522), (68, 140, 84), (136, 72, 8)]
    assert_right(verify("mma_sync", sizes=sizes, precision=precision, layout=layout, params=params))


def test_more_parts_of_k_than_meet_at_once_are_added(verify):
    done = verify("mma_sync", sizes=[(20, 70, 5001)], precision="bf16", layout="nn", params={**SMALL, "SPLIT_K": 16})
    assert_right(done)


LATE = {"copies": "late_copies.cuh", "precision": "tf32", "watch": False}


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("layout", ["nn", "nt"])
def test_what_is_being_copied_is_not_read(verify, layout, stages):
    sizes = [(67, 71, 65), (70, 34, 522), (20, 24, 31)]
    assert_right(verify("mma_sync", sizes=sizes, layout=layout, params={**SMALL, "STAGES": stages}, **LATE))


def test_a_copy_that_is_not_awaited_is_found(verify):
    change = ("wait_for_copies<STAGES - 2>", "wait_for_copies<STAGES - 1>")
    done = verify("mma_sync", sizes=[(70, 34, 522)], layout="nn", params=SMALL, change=change, **LATE)
    assert "wrong" in {record.status for record in done.records}
