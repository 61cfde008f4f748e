"""A network's parameters and the digits it was trained for, as host arrays."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gemmbench.errors import SpecError, shorten_reason
from gemmbench.planning.files import display_path, exists, is_file
from gemmbench.planning.networks import Network

SIDE = 28
"""Pixels per side of the images that a network of 784 inputs reads."""
_STORED_SIDE, _WHITE, _MOST_DIGITS = 8, 16, 100_000


@dataclass(frozen=True)
class Digits:
    """Test digits: inputs (count x 784, float32, from 0 to 1), labels, and the 8 x 8 source images."""

    inputs: np.ndarray
    labels: np.ndarray
    images: np.ndarray


@dataclass(frozen=True)
class Parameters:
    """Weights (inputs x outputs) and biases by layer in float32, and the digits that they were trained on, if any."""

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    digits: Digits | None = None

    def pack(self, network: Network) -> np.ndarray:
        """Return all parameters in one array, laid out as described in planning.networks, with NaN in gaps."""
        array = np.full(network.parameters, np.nan, network.storage.numpy_type())
        for starts, parts in ((network.weights_at, self.weights), (network.biases_at, self.biases)):
            for start, part in zip(starts, parts, strict=True):
                array[start : start + part.size] = part.ravel()
        return array


def make_random_parameters(network: Network, seed: int) -> Parameters:
    """Draw uniform weights that preserve the scale of activations (He et al., 2015), and small biases."""
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(network.sizes))
    weights = [rng.uniform(-1, 1, pair) * (6 / pair[0]) ** 0.5 for pair in pairs]
    biases = [rng.uniform(-0.1, 0.1, outputs) for _, outputs in pairs]
    return Parameters(_to_float32(weights), _to_float32(biases))


def load_parameters(path: Path, network: Network) -> Parameters:
    """Read W1, b1, W2, ... from a .npz file, and `images` and `labels` if it holds digits. Other arrays are not read.

    Raises SpecError if the file is not a .npz archive, or if an array is missing or has the wrong shape.
    """
    if exists(path) and not is_file(path):
        raise SpecError(display_path(path), None, "is not a file; name a .npz file of weights")
    try:
        with zipfile.ZipFile(path) as file:
            return _Archive(path, file).read_parameters(network)
    except SpecError:
        raise
    except Exception as fault:  # a damaged archive may raise any exception of zipfile, zlib or NumPy
        why = (str(fault) or type(fault).__name__) if zipfile.is_zipfile(path) else _explain_no_archive(fault)
        message = f"not a .npz file of weights ({shorten_reason(why)}); write one with numpy.savez"
        raise SpecError(display_path(path), None, message) from None


def _explain_no_archive(fault: Exception) -> str:
    return str(fault) if isinstance(fault, OSError) else "it is not an archive"


@dataclass(frozen=True)
class _Archive:
    """An open .npz file.

    The header of an array is checked before the array is read, because a small file may hold a huge array.
    """

    path: Path
    file: zipfile.ZipFile

    def read_parameters(self, network: Network) -> Parameters:
        """Return the weights, the biases and the digits of a network. Raises SpecError and other errors."""
        names = set(self.file.namelist())
        weights, biases = [], []
        for number, (inputs, outputs) in enumerate(pairwise(network.sizes), 1):
            weights.append(self._read_layer(f"W{number}", (inputs, outputs)))
            biases.append(self._read_layer(f"b{number}", (outputs,)))
        if f"{(extra := f'W{network.layers + 1}')}.npy" in names:
            message = f"it has {extra}, but the network has {network.layers} layers; add to `layers`, or remove {extra}"
            raise self._make_error(message)
        has_digits = {"images.npy", "labels.npy"} <= names and network.sizes[0] == SIDE * SIDE
        return Parameters(_to_float32(weights), _to_float32(biases), self._read_digits() if has_digits else None)

    def _read_layer(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        wanted = _write_shape(shape)
        if f"{name}.npy" not in self.file.namelist():
            raise self._make_error(f"array {name} is missing; the network needs one of {wanted}")
        found, kind = self._read_header(name)
        if found != shape:
            message = f"{name} is {_write_shape(found)}, but the network needs {wanted}"
            raise self._make_error(f"{message}; change `layers` or the weights file")
        if kind.kind != "f":
            raise self._make_error(f"{name} holds {kind}; store float32 or float16")
        array = self._read_array(name)
        if not np.isfinite(array).all():
            raise self._make_error(f"{name} holds values that are not finite; train or store the weights again")
        return array

    def _read_digits(self) -> Digits:
        (shape, kind), (count, label_kind) = self._read_header("images"), self._read_header("labels")
        fits = len(shape) == 3 and 1 <= shape[0] <= _MOST_DIGITS and shape[1:] == (_STORED_SIDE, _STORED_SIDE)
        if not fits or count != shape[:1] or kind.kind not in "uif" or label_kind.kind not in "ui":
            message = f"images are {_write_shape(shape)} of {kind}, labels are {_write_shape(count)} of {label_kind}"
            wanted = (
                f"1 to {_MOST_DIGITS:,} images of {_STORED_SIDE} x {_STORED_SIDE} numbers, and the same number of "
                "integers"
            )
            raise self._make_error(f"{message}; store {wanted}")
        images, labels = self._read_array("images"), self._read_array("labels")
        if not ((images >= 0) & (images <= _WHITE)).all() or not ((labels >= 0) & (labels <= 9)).all():
            raise self._make_error(f"images hold values outside 0 to {_WHITE}, or labels outside 0 to 9; store digits")
        return Digits(upscale_images(images), labels.astype(np.int64), images)

    def _read_header(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return the shape and type of an array."""
        with self.file.open(f"{name}.npy") as file:
            version = np.lib.format.read_magic(file)
            readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            if version not in readers:
                raise ValueError(f"{name} is stored in version {version[0]}.{version[1]} of NumPy's format")
            shape, _, kind = readers[version](file)
            return shape, kind

    def _read_array(self, name: str) -> np.ndarray:
        with self.file.open(f"{name}.npy") as file:
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))

    def _make_error(self, message: str) -> SpecError:
        return SpecError(display_path(self.path), None, message)


def _write_shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a number"


def _to_float32(arrays: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    return tuple(np.ascontiguousarray(array, np.float32) for array in arrays)


def upscale_images(images: np.ndarray) -> np.ndarray:
    """Scale count x 8 x 8 images with values 0 to 16 up to count x 784 inputs with values 0 to 1 (float32).

    The scaling is bilinear, with pixel centres at half-integers and repeated borders.
    """
    centres = (np.arange(SIDE) + 0.5) * _STORED_SIDE / SIDE - 0.5
    low = np.floor(centres).astype(int)
    share = centres - low
    matrix = np.zeros((SIDE, _STORED_SIDE))
    rows = np.arange(SIDE)
    np.add.at(matrix, (rows, np.clip(low, 0, _STORED_SIDE - 1)), 1 - share)
    np.add.at(matrix, (rows, np.clip(low + 1, 0, _STORED_SIDE - 1)), share)
    large = matrix @ (images.astype(np.float64) / _WHITE) @ matrix.T
    return np.asarray(large.reshape(len(images), -1), np.float32)
