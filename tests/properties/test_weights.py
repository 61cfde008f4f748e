"""Damaged files of weights: each is read, or refused in one line."""

import io
import zipfile
from itertools import pairwise

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

from gemmbench.bench.operands.network_parameters import load_parameters
from gemmbench.errors import SpecError
from gemmbench.planning.networks import Network

NETWORK = Network((4, 3, 2), ("relu", "linear"), 2)
IMAGES = Network((784, 2), ("softmax",), 2)
SHAPES = {"W1": (4, 3), "b1": (3,), "W2": (3, 2), "b2": (2,)}
OF_IMAGES = {"W1": (784, 2), "b1": (2,), "images": (3, 8, 8), "labels": (3,)}
KINDS = ["f4", "f2", "f8", "i4", "u1", "?", "c8", "U3", "O", "M8[s]", "V7"]
odd_shapes = st.sampled_from([(), (0,), (3,), (3, 8), (3, 8, 8), (1, 4, 3), (10**6, 10**6), (2**62, 8), (-1,)])


@st.composite
def members(draw, shapes):
    """The bytes of an array: right, or with another shape or type in its header."""
    name = draw(st.sampled_from([*shapes, "W3", "x", "images", "labels", "W1"]))
    shape, kind = shapes.get(name, (3, 8, 8)), "i4" if name in ("images", "labels") else "f4"
    file = io.BytesIO()
    np.save(file, np.zeros(shape, kind))
    content = file.getvalue()
    if draw(st.booleans()):
        header = {
            "descr": draw(st.sampled_from(KINDS)),
            "fortran_order": draw(st.booleans()),
            "shape": draw(odd_shapes),
        }
        file = io.BytesIO()
        np.lib.format.write_array_header_2_0(file, header)
        content = file.getvalue() + bytes(draw(st.integers(0, 4000)))
    if draw(st.booleans()):
        at = draw(st.integers(0, min(len(content), 140)))
        content = content[:at] + draw(st.binary(max_size=8)) + content[at + draw(st.integers(0, 8)) :]
    return f"{name}.npy", content


@st.composite
def archives(draw):
    """A network, and the bytes of an archive for it, some of them changed."""
    network, shapes = draw(st.sampled_from([(NETWORK, SHAPES), (IMAGES, OF_IMAGES)]))
    written = io.BytesIO()
    arrays = {name: np.zeros(shape, "i4" if name in ("images", "labels") else "f4") for name, shape in shapes.items()}
    np.savez(written, **arrays)
    extra = dict(draw(st.lists(members(shapes), max_size=3)))
    file = io.BytesIO()
    method = draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
    with zipfile.ZipFile(written) as good, zipfile.ZipFile(file, "w", method) as archive:
        for name in good.namelist():
            archive.writestr(name, extra.pop(name, None) or good.read(name))
        for name, content in extra.items():
            archive.writestr(name, content)
    content = bytearray(file.getvalue())
    for _ in range(draw(st.sampled_from([0, 1, 1, 2, 8]))):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    return network, bytes(content[: draw(st.sampled_from([None, None, None, len(content) // 2]))])


@given(archive=archives())
def test_a_damaged_archive_is_read_or_refused_in_one_line(tmp_path, archive):
    network, content = archive
    path = tmp_path / "x.npz"
    path.write_bytes(content)
    try:
        parameters = load_parameters(path, network)
    except SpecError as fault:
        event("refused")
        assert "\n" not in str(fault) and str(path) in str(fault)
        return
    event("read")
    assert [each.shape for each in parameters.weights] == list(pairwise(network.sizes))
