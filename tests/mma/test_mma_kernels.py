"""The kernels for mma.sync without a GPU: shuffles do the product of a warp."""

import shutil
from pathlib import Path

import pytest

import gemmbench
from gemmbench.planning.files import data_folder

SHAPES = [(5, 136, 200), (19, 75, 168), (70, 8, 77), (67, 21, 66), (131, 1, 4101)]
LAYOUTS = ("nn", "nt", "tn", "tt")
SMALL = {"BM": 64, "BN": 64, "WM": 32, "WN": 32}


@pytest.fixture
def verify(tmp_path, monkeypatch):
    """Verify a kernel with a product that the CPU can compute, in the current folder: code is cached with its path."""
    monkeypatch.chdir(tmp_path)
    for name in ("tensor", "common"):
        shutil.copytree(data_folder("cuda") / name, name, ignore=shutil.ignore_patterns("*.cu"))
    shutil.copy(Path(__file__).with_name("mma.cuh"), "tensor")

    def run(kernel, **wanted):
        text = (data_folder("cuda") / "tensor" / f"{kernel}.cu").read_text()
        Path(f"tensor/{kernel}_on_cpu.cu").write_text(text.replace("min_sm: 80\n", ""))
        done = gemmbench.verify(f"{kernel}_on_cpu", device="cpu", kernels=".", progress=False, **wanted)
        assert done.ok, done.failures[:3]
        assert done.records

    return run


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("params", "shapes"), [({"LINES": 8, "AHEAD": 1}, SHAPES), ({"LINES": 16, "AHEAD": 2}, SHAPES[:-1])]
)
def test_a_narrow_c_is_right(verify, layout, params, shapes):
    verify(
        "mma_stream",
        sizes=shapes,
        precision="bf16",
        layout=layout,
        params={"WARPS": 4, "BLOCKS": 1, **params},
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("precision", ["bf16", "tf32"])
@pytest.mark.parametrize(
    "params", [{**SMALL, "STAGES": 2}, {**SMALL, "STAGES": 3, "SPLIT_K": 4}, {"BM": 64, "WM": 32, "SPLIT_K": 2}]
)
def test_rows_of_any_length_are_right(verify, layout, precision, params):
    """Rows of 2, 4, 8 and 16 bytes times an odd number."""
    sizes = [(67, 71, 65), (70, 34, 522), (68, 140, 1044), (130, 60, 2050), (136, 72, 8)]
    verify("mma_sync", sizes=sizes, precision=precision, layout=layout, params=params)
