"""The messages that the page and the server exchange, as JSON."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from examples.digits.classifier import RowReading
from examples.digits.drawing import SIDE, draw_image

_MOST_POINTS = 20_000
_FARTHEST = 1e6


class Drawing(msgspec.Struct, forbid_unknown_fields=True):
    """A drawing to classify: the strokes of a pen, each a list of points x, y, or an image of 8 x 8."""

    strokes: list[list[tuple[float, float]]] = []
    image: list[list[int]] = []

    def to_image(self) -> np.ndarray:
        """The image, 8 x 8 of 0 to 16. Raises ValueError, which says what is wrong."""
        return _check_image(self.image) if self.image else draw_image(_check_strokes(self.strokes))


def _check_image(rows: list[list[int]]) -> np.ndarray:
    if len(rows) != SIDE or any(len(row) != SIDE for row in rows):
        raise ValueError(f"image: not {SIDE} rows of {SIDE} numbers")
    if not all(0 <= value <= 16 for row in rows for value in row):
        raise ValueError("image: its numbers must be 0 to 16")
    return np.array(rows, np.uint8)


def _check_strokes(strokes: list[list[tuple[float, float]]]) -> list[np.ndarray]:
    drawn = [np.array(stroke, np.float64) for stroke in strokes if stroke]
    if not drawn:
        raise ValueError("strokes: nothing is drawn")
    if sum(map(len, drawn)) > _MOST_POINTS:
        raise ValueError(f"strokes: more than {_MOST_POINTS} points")
    if not all((np.abs(stroke) <= _FARTHEST).all() for stroke in drawn):
        raise ValueError(f"strokes: a point is beyond {_FARTHEST:g}")
    return drawn


class RowReply(msgspec.Struct):
    """One row: the digit that it read, and its seconds for one batch. None if it failed for the reason in `fault`."""

    name: str
    digit: int | None
    seconds: float | None
    fault: str


class Reply(msgspec.Struct):
    """The image as the network sees it, the probability of each digit from the first good row, and all rows."""

    image: list[list[int]]
    digit: int | None
    probabilities: list[float]
    rows: list[RowReply]


def make_reply(image: np.ndarray, readings: Sequence[RowReading]) -> Reply:
    """The answer to a drawing."""
    good = next((reading for reading in readings if not reading.fault), None)
    probabilities = [] if good is None else [float(value) for value in good.outputs]
    digit = None if good is None else int(good.outputs.argmax())
    return Reply(image.tolist(), digit, probabilities, [_make_row(reading) for reading in readings])


def _make_row(reading: RowReading) -> RowReply:
    measured = reading.seconds == reading.seconds
    digit = int(reading.outputs.argmax()) if measured else None
    return RowReply(reading.name, digit, reading.seconds if measured else None, reading.fault)
