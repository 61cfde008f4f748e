"""A network's parameters and the digits it was trained for, as host arrays."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from gemmbench.errors import SpecError
from gemmbench.planning.files import display_path
from gemmbench.planning.networks import Network

SIDE = 28
"""Pixels per side of the images that a network of 784 inputs reads."""
_STORED_SIDE = 8


@dataclass(frozen=True)
class Digits:
    """Test digits: inputs count x 784 in 0..1 (float32), labels, and the 8x8 source images."""

    inputs: np.ndarray
    labels: np.ndarray
    images: np.ndarray


@dataclass(frozen=True)
class Parameters:
    """Weights (inputs x outputs) and biases by layer, float32; digits if trained on any."""

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    digits: Digits | None = None

    def pack(self, network: Network) -> np.ndarray:
        """All in one array, laid out as planning.networks.network describes; NaN in gaps."""
        array = np.full(network.parameters, np.nan, np.float32)
        for starts, parts in ((network.weights_at, self.weights), (network.biases_at, self.biases)):
            for start, part in zip(starts, parts, strict=True):
                array[start : start + part.size] = part.ravel()
        return array


def make_random_parameters(network: Network, seed: int) -> Parameters:
    """Uniform weights that preserve the scale of activations (He et al., 2015); small biases."""
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(network.sizes))
    weights = [rng.uniform(-1, 1, pair) * (6 / pair[0]) ** 0.5 for pair in pairs]
    biases = [rng.uniform(-0.1, 0.1, outputs) for _, outputs in pairs]
    return Parameters(_to_float32(weights), _to_float32(biases))


def load_parameters(path: Path, network: Network) -> Parameters:
    """Read W1, b1, W2, ... from a .npz file, and `images` and `labels` if it holds digits.

    Raises SpecError if the file is not a .npz archive, or an array is missing or misshapen.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, AttributeError, zipfile.BadZipFile) as fault:
        # For a file that is not an archive, NumPy's message suggests loading pickles: replace it.
        why = f"{fault}" if zipfile.is_zipfile(path) else "it is not an archive"
        raise SpecError(
            display_path(path), None, f"not a .npz file of weights ({why}); write one with numpy.savez"
        ) from None
    weights, biases = [], []
    for number, (inputs, outputs) in enumerate(pairwise(network.sizes), 1):
        weights.append(_take_array(path, arrays, f"W{number}", (inputs, outputs)))
        biases.append(_take_array(path, arrays, f"b{number}", (outputs,)))
    if (extra := f"W{network.layers + 1}") in arrays:
        message = f"it has {extra}, but the network has {network.layers} layers; add to `layers`, or remove {extra}"
        raise SpecError(display_path(path), None, message)
    return Parameters(_to_float32(weights), _to_float32(biases), _take_digits(arrays, network))


def _take_array(path: Path, arrays: dict[str, np.ndarray], name: str, shape: tuple[int, ...]) -> np.ndarray:
    array = arrays.get(name)
    wanted = " x ".join(map(str, shape))
    if array is None:
        raise SpecError(display_path(path), None, f"array {name} is missing; the network needs one of {wanted}")
    if array.shape != shape:
        has = " x ".join(map(str, array.shape)) or "a number"
        raise SpecError(
            display_path(path),
            None,
            f"{name} is {has}, but the network needs {wanted}; change `layers` or the weights file",
        )
    if array.dtype.kind != "f":
        raise SpecError(display_path(path), None, f"{name} holds {array.dtype}; store float32 or float16")
    if not np.isfinite(array).all():
        raise SpecError(display_path(path), None, f"{name} holds values that are not finite; train or store it again")
    return array


def _to_float32(arrays: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    return tuple(np.ascontiguousarray(array, np.float32) for array in arrays)


def _take_digits(arrays: dict[str, np.ndarray], network: Network) -> Digits | None:
    if "images" not in arrays or "labels" not in arrays or network.sizes[0] != SIDE * SIDE:
        return None
    images = arrays["images"]
    return Digits(upscale_images(images), arrays["labels"].astype(np.int64), images)


def upscale_images(images: np.ndarray) -> np.ndarray:
    """Scale count x 8 x 8 images of 0..16 to count x 784 inputs of 0..1 (float32).

    Bilinear, with pixel centres at half-integers and the border repeated.
    """
    centres = (np.arange(SIDE) + 0.5) * _STORED_SIDE / SIDE - 0.5
    low = np.floor(centres).astype(int)
    share = centres - low
    matrix = np.zeros((SIDE, _STORED_SIDE))
    rows = np.arange(SIDE)
    np.add.at(matrix, (rows, np.clip(low, 0, _STORED_SIDE - 1)), 1 - share)
    np.add.at(matrix, (rows, np.clip(low + 1, 0, _STORED_SIDE - 1)), share)
    large = matrix @ (images.astype(np.float64) / 16) @ matrix.T
    return np.asarray(large.reshape(len(images), -1), np.float32)
