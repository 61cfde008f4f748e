"""A network's parameters and the digits it was trained for, as host arrays."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from gemmbench.errors import SpecError
from gemmbench.planning.networks.network import Network
from gemmbench.planning.paths import display_path

SIDE = 28
"""Pixels of a side of the images that a network of 784 inputs sees."""
_STORED = 8


@dataclass(frozen=True)
class Digits:
    """Test digits: inputs count x 784 in 0..1 (float32), labels, and the 8x8 images they were made from."""

    inputs: np.ndarray
    labels: np.ndarray
    images: np.ndarray


@dataclass(frozen=True)
class Parameters:
    """Weights (inputs x outputs) and biases by layer, float32; digits if they were trained on some."""

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    digits: Digits | None = None

    def packed(self, network: Network) -> np.ndarray:
        """All in one array, as spec.network lays them out; NaN between them."""
        array = np.full(network.parameters, np.nan, np.float32)
        for places, parts in ((network.weights_at, self.weights), (network.biases_at, self.biases)):
            for place, part in zip(places, parts, strict=True):
                array[place : place + part.size] = part.ravel()
        return array


def make_random_parameters(network: Network, seed: int) -> Parameters:
    """Uniform weights that keep the size of what goes through (He et al., 2015), small biases."""
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(network.sizes))
    weights = [rng.uniform(-1, 1, pair) * (6 / pair[0]) ** 0.5 for pair in pairs]
    biases = [rng.uniform(-0.1, 0.1, outputs) for _, outputs in pairs]
    return Parameters(_floats(weights), _floats(biases))


def load_parameters(path: Path, network: Network) -> Parameters:
    """Parameters from a .npz: W1, b1, W2, ...; and `images` and `labels` if it has digits.

    Raises SpecError for a file that is none, a missing array, a shape that does not fit.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, AttributeError, zipfile.BadZipFile) as fault:
        # What NumPy says of a file that is none at all speaks of pickles, and advises to load them.
        why = f"{fault}" if zipfile.is_zipfile(path) else "it is no archive"
        message = f"not a .npz file of weights ({why}); write one with numpy.savez"
        raise SpecError(display_path(path), None, message) from None
    weights, biases = [], []
    for number, (inputs, outputs) in enumerate(pairwise(network.sizes), 1):
        weights.append(_array(path, arrays, f"W{number}", (inputs, outputs)))
        biases.append(_array(path, arrays, f"b{number}", (outputs,)))
    if (extra := f"W{network.layers + 1}") in arrays:
        message = f"more layers than the network's {network.layers}: it has {extra}; add to `layers`, or take it out"
        raise SpecError(display_path(path), None, message)
    return Parameters(_floats(weights), _floats(biases), _digits(arrays, network))


def _array(path: Path, arrays: dict[str, np.ndarray], name: str, shape: tuple[int, ...]) -> np.ndarray:
    found = arrays.get(name)
    wanted = " x ".join(map(str, shape))
    if found is None:
        raise SpecError(display_path(path), None, f"no array {name}; the network needs one of {wanted}")
    if found.shape != shape:
        has = " x ".join(map(str, found.shape)) or "a number"
        message = f"{name} is {has}, the network needs {wanted}; change `layers`, or the weights file"
        raise SpecError(display_path(path), None, message)
    if found.dtype.kind != "f":
        raise SpecError(display_path(path), None, f"{name} holds {found.dtype}; store float32 or float16")
    if not np.isfinite(found).all():
        raise SpecError(display_path(path), None, f"{name} holds values that are not finite; train or store it again")
    return found


def _floats(arrays: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    return tuple(np.ascontiguousarray(array, np.float32) for array in arrays)


def _digits(arrays: dict[str, np.ndarray], network: Network) -> Digits | None:
    if "images" not in arrays or "labels" not in arrays or network.sizes[0] != SIDE * SIDE:
        return None
    images = arrays["images"]
    return Digits(upscale_images(images), arrays["labels"].astype(np.int64), images)


def upscale_images(images: np.ndarray) -> np.ndarray:
    """count x 8 x 8 images of 0..16 as count x 784 inputs of 0..1 (float32).

    Bilinear, with pixel centres half a pixel in and the border repeated.
    """
    centres = (np.arange(SIDE) + 0.5) * _STORED / SIDE - 0.5
    low = np.floor(centres).astype(int)
    share = centres - low
    matrix = np.zeros((SIDE, _STORED))
    rows = np.arange(SIDE)
    np.add.at(matrix, (rows, np.clip(low, 0, _STORED - 1)), 1 - share)
    np.add.at(matrix, (rows, np.clip(low + 1, 0, _STORED - 1)), share)
    large = matrix @ (images.astype(np.float64) / 16) @ matrix.T
    return large.reshape(len(images), -1).astype(np.float32)
