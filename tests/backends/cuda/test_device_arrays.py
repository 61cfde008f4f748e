"""What a Python function gets: NumPy, as a consumer of DLPack on the host, reads the capsules."""

import numpy as np
import pytest

from gemmbench.backends.cuda import device_arrays
from gemmbench.backends.cuda.device_arrays import DeviceArray, GemmProblem
from gemmbench.planning.precisions import BFLOAT16, E4M3, E5M2, FLOAT16, FLOAT32, FLOAT64, INT8, INT32, PRECISIONS
from gemmbench.planning.problems import Problem

HOST = 1  # kDLCPU


@pytest.fixture
def array(monkeypatch):
    """An array of these numbers, as if the memory of the host were that of a GPU."""
    monkeypatch.setattr(device_arrays, "CUDA_DEVICE", HOST)
    return lambda numbers, storage: DeviceArray.at(numbers.ctypes.data, numbers.shape, storage, 0)


@pytest.mark.parametrize("storage", [FLOAT16, FLOAT32, FLOAT64, INT8, INT32], ids=lambda storage: storage.name)
def test_a_consumer_of_dlpack_sees_the_matrix(array, storage):
    numbers = np.arange(6, dtype=storage.numpy_type()).reshape(2, 3)
    seen = np.from_dlpack(array(numbers, storage))
    assert seen.dtype == numbers.dtype and seen.ctypes.data == numbers.ctypes.data
    assert np.array_equal(seen, numbers)
    del seen  # frees the description, not the matrix
    assert numbers.sum() == 15


@pytest.mark.parametrize("storage", [BFLOAT16, E4M3, E5M2], ids=lambda storage: storage.name)
def test_types_that_numpy_lacks_have_a_capsule_but_no_array_interface(storage):
    array = DeviceArray.at(512, (2, 3), storage, 0)
    assert "dltensor" in repr(array.__dlpack__())
    assert not hasattr(array, "__cuda_array_interface__")


def test_every_storage_type_of_a_precision_has_a_capsule():
    kinds = {kind for precision in PRECISIONS.values() for kind in (precision.a, precision.b, precision.c)}
    assert {kind.name for kind in kinds} <= set(device_arrays._TYPES)


def test_the_array_interface_is_that_of_numpy():
    interface = DeviceArray.at(512, (2, 3), FLOAT16, 1).__cuda_array_interface__
    assert (interface["data"], interface["shape"], interface["strides"]) == ((512, False), (2, 3), None)
    assert np.dtype(interface["typestr"]) == np.float16


def test_equal_arrays_are_one_key_and_a_copy_and_another_device_are_refused():
    one, same, other = (DeviceArray.at(at, (2, 3), FLOAT32, 1) for at in (512, 512, 1024))
    assert len({one, same, other}) == 2 and one.__dlpack_device__() == (2, 1)
    for wrong in ({"copy": True}, {"dl_device": (1, 0)}):
        with pytest.raises(BufferError):
            one.__dlpack__(**wrong)


def test_a_problem_names_what_a_function_may_ask():
    problem = GemmProblem.of(Problem(3, 4, 5, "tn", "bf16", 2.0, -1.0))
    assert problem == GemmProblem(3, 4, 5, 2.0, -1.0, "bf16", True, False)


def test_rows_with_padding_have_strides():
    problem = Problem(140, 150, 300, "nt", "e4m3_blocks")
    scale_a, scale_b = (DeviceArray.of(problem, name, (), 512, 0) for name in ("scale_a", "scale_b"))
    assert (scale_a.shape, scale_a.strides, scale_a.dtype) == ((3, 140), (), "float32")
    assert (scale_b.shape, scale_b.strides) == ((2, 3), (4, 1))
    assert scale_b.__cuda_array_interface__["strides"] == (16, 4)
