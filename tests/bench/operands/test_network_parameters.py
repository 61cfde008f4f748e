"""Files of weights: what is read of them, and what is refused."""

import io
import os
import zipfile

import numpy as np
import pytest

from gemmbench.bench.operands.network_parameters import load_parameters
from gemmbench.errors import SpecError
from gemmbench.planning.networks import Network

NETWORK = Network((4, 3), ("relu",), 2)
IMAGES = Network((784, 2), ("softmax",), 2)
ARRAYS = {"W1": np.ones((4, 3), np.float32), "b1": np.zeros(3, np.float32)}
OF_IMAGES = {"W1": np.ones((784, 2), np.float32), "b1": np.zeros(2, np.float32)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.npz"


def write_huge_array(archive, name, shape):
    """An array of zeros, of which only the header says how large it is."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
    archive.writestr(f"{name}.npy", file.getvalue())


def test_only_the_arrays_of_the_network_are_read(path):
    np.savez(path, **ARRAYS)
    with zipfile.ZipFile(path, "a") as archive:
        write_huge_array(archive, "other", (1 << 40,))
    assert load_parameters(path, NETWORK).weights[0].shape == (4, 3)


def test_the_shape_is_checked_before_the_values_are_read(path):
    with zipfile.ZipFile(path, "w") as archive:
        write_huge_array(archive, "W1", (1 << 20, 1 << 20))
    with pytest.raises(SpecError, match="W1 is 1048576 x 1048576, but the network needs 4 x 3; change `layers`"):
        load_parameters(path, NETWORK)


def test_an_encrypted_archive_is_refused(path):
    np.savez(path, **ARRAYS)
    content = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + place] |= 1
    path.write_bytes(content)
    with pytest.raises(SpecError, match=r"not a \.npz file of weights \(.*encrypted.*\); write one with numpy\.savez"):
        load_parameters(path, NETWORK)


@pytest.mark.parametrize("header", [b"{'descr': '<f4', (", b"{" * 100, b"\xff", b"'" * 3])
def test_a_broken_header_is_refused(path, header):
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("W1.npy", content)
    with pytest.raises(SpecError, match=r"not a \.npz file of weights"):
        load_parameters(path, NETWORK)


def test_compressed_data_that_is_damaged_is_refused(path):
    np.savez_compressed(path, **ARRAYS)
    content = bytearray(path.read_bytes())
    content[60:80] = bytes(range(100, 120))
    path.write_bytes(content)
    with pytest.raises(SpecError, match=r"not a \.npz file of weights"):
        load_parameters(path, NETWORK)


@pytest.mark.parametrize(
    "digits",
    [
        {"images": np.zeros((2, 8, 9)), "labels": np.zeros(2, int)},
        {"images": np.zeros((2, 8, 8)), "labels": np.zeros(3, int)},
        {"images": np.zeros((2, 8, 8), "U3"), "labels": np.zeros(2, int)},
        {"images": np.full((2, 8, 8), 17), "labels": np.zeros(2, int)},
        {"images": np.full((2, 8, 8), np.nan), "labels": np.zeros(2, int)},
        {"images": np.zeros((2, 8, 8)), "labels": np.full(2, 11)},
        {"images": np.zeros((0, 8, 8)), "labels": np.zeros(0, int)},
    ],
)
def test_digits_that_are_none_are_refused(path, digits):
    np.savez(path, **OF_IMAGES, **digits)
    with pytest.raises(SpecError, match="images"):
        load_parameters(path, IMAGES)


def test_a_fifo_is_refused_without_waiting_for_it(path):
    os.mkfifo(path)
    with pytest.raises(SpecError, match=r"is not a file; name a \.npz file of weights"):
        load_parameters(path, NETWORK)
