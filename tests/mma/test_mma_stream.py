"""mma_stream without a GPU: shuffles do the product of a warp."""

import shutil
from pathlib import Path

import pytest

import gemmbench
from gemmbench.planning.files import data_folder

SHAPES = [(5, 136, 200), (19, 75, 168), (70, 8, 77), (67, 21, 66), (131, 1, 4101)]


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """The kernel with a product that the CPU can compute, in the current folder: code is cached with its path."""
    monkeypatch.chdir(tmp_path)
    for name in ("tensor", "common"):
        shutil.copytree(data_folder("cuda") / name, name, ignore=shutil.ignore_patterns("*.cu"))
    shutil.copy(data_folder("cuda") / "tensor" / "mma_stream.cu", "tensor/mma_stream_on_cpu.cu")
    shutil.copy(Path(__file__).with_name("mma.cuh"), "tensor")
    return "."


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize(
    ("params", "shapes"), [({"LINES": 8, "AHEAD": 1}, SHAPES), ({"LINES": 16, "AHEAD": 2}, SHAPES[:-1])]
)
def test_a_narrow_c_is_right(kernels, layout, params, shapes):
    done = gemmbench.verify(
        "mma_stream_on_cpu",
        device="cpu",
        kernels=kernels,
        sizes=shapes,
        precision="bf16",
        layout=layout,
        params={"WARPS": 4, "BLOCKS": 1, **params},
        progress=False,
    )
    assert done.ok, done.failures[:3]
    assert done.records
