"""mma_stream without a GPU: shuffles do the product of a warp."""

import shutil
from pathlib import Path

import pytest

import gemmbench
from gemmbench.planning.files import data_folder

SHAPES = [(5, 136, 200), (19, 75, 168), (70, 8, 77), (67, 21, 66), (131, 1, 4101)]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The kernel with a product that the CPU can compute."""
    folder = tmp_path_factory.mktemp("cuda")
    for name in ("tensor", "sgemm"):
        (folder / name).mkdir()
        for path in (data_folder("cuda") / name).glob("*.cuh"):
            shutil.copy(path, folder / name)
    text = (data_folder("cuda") / "tensor" / "mma_stream.cu").read_text()
    (folder / "tensor" / "mma_stream_on_cpu.cu").write_text(text)
    shutil.copy(Path(__file__).with_name("mma.cuh"), folder / "tensor")
    return folder


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_a_narrow_c_is_right(kernels, layout):
    params = {"LINES": [8, 16], "WARPS": [4], "AHEAD": [1, 2], "BLOCKS": [1]}
    done = gemmbench.verify(
        "mma_stream_on_cpu",
        device="cpu",
        kernels=kernels,
        sizes=SHAPES,
        precision="bf16",
        layout=layout,
        params=params,
        progress=False,
    )
    assert done.ok, done.failures[:3]
    assert done.records
