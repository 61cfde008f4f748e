"""Strokes of a pen, converted to an image like those that the network was trained on.

The digits of the training data were scanned, scaled to fill 32 x 32 black or white pixels, and counted in blocks of 4 x
4 (E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI, 1998). A drawing is treated in the same
way: it is centred and scaled, keeping its proportions, and its pen is made wide enough to blacken the usual share of
the pixels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SIDE = 8
"""Pixels per side of an image; each holds the count of its black pixels, 0 to 16."""

_FINE, _BLOCK = 32, 4
_MARGIN = 3.5
"""Fine pixels between the middle of a stroke and the edge: half a pen."""
_WIDEST = 25 - 2 * _MARGIN
_BLACK = 0.3
"""The share of black pixels: 31 % in the training data, for a thin 1 as well as for an 8."""
_PEN = (1.4, 4.0)
"""Fine pixels from the middle of a stroke to its edge, at least and at most."""
_MOST_SEGMENTS = 300
"""The largest number of points of all strokes, and the largest number of strokes; longer drawings are thinned out."""


def draw_image(strokes: Sequence[np.ndarray]) -> np.ndarray:
    """The image (8 x 8, 0 to 16) of strokes, each an array of points (count x 2; x, then y down)."""
    distance = _measure_distances(_fit(strokes))
    pen = np.clip(np.quantile(distance, _BLACK), *_PEN)
    blocks = (distance <= pen).reshape(SIDE, _BLOCK, SIDE, _BLOCK)
    return np.asarray(blocks.sum(axis=(1, 3)), np.uint8)


def _fit(strokes: Sequence[np.ndarray]) -> np.ndarray:
    """Segments (count x 2 ends x 2), centred and scaled to the height or the greatest width."""
    points = np.concatenate(strokes)
    low, high = points.min(axis=0), points.max(axis=0)
    width, height = np.maximum(high - low, 1e-9)
    scale = min((_FINE - 2 * _MARGIN) / height, _WIDEST / width)
    if max(width, height) <= 1e-9:
        scale = 1.0  # a dot
    placed = [(stroke - (low + high) / 2) * scale + _FINE / 2 for stroke in strokes]
    # A number that makes all drawings, of one stroke or of thousands of dots, take equally long.
    step = -(-sum(map(len, placed)) // _MOST_SEGMENTS)
    thinned = placed[:: -(-len(placed) // _MOST_SEGMENTS)]
    return np.concatenate([_cut(stroke, step) for stroke in thinned])


def _cut(stroke: np.ndarray, step: int) -> np.ndarray:
    """The segments of one stroke, between every `step`-th of its points; a point is a segment too."""
    kept = np.concatenate([stroke[::step], stroke[-1:]])
    return np.stack([kept[:-1], kept[1:]], axis=1)


def _measure_distances(segments: np.ndarray) -> np.ndarray:
    """The distance from the centre of each fine pixel to the nearest segment (32 x 32)."""
    centres = np.arange(_FINE) + 0.5
    pixels = np.stack(np.meshgrid(centres, centres), axis=-1)[..., None, :]
    starts, along = segments[:, 0], segments[:, 1] - segments[:, 0]
    lengths = np.maximum((along**2).sum(axis=-1), 1e-9)
    share = np.clip(((pixels - starts) * along).sum(axis=-1) / lengths, 0, 1)
    nearest = starts + share[..., None] * along
    return np.asarray(np.sqrt(((nearest - pixels) ** 2).sum(axis=-1)).min(axis=-1))
