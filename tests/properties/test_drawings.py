"""Odd drawings sent to the digit page: each is an image, or is refused as a ValueError."""

import json

import msgspec
import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

from examples.digits.messages import Drawing

odd = st.sampled_from([0, -1, 16, 17, 1e-320, 1e6, 1e7, 1e308, -0.0, "x", None, [], {}, True, 2**63, 2**80])
numbers = st.integers(0, 600) | st.floats(0, 600) | odd
points = st.lists(numbers, min_size=2, max_size=2) | st.lists(numbers, max_size=3) | odd
strokes = st.lists(st.lists(points, max_size=12) | odd, max_size=6)
images = st.lists(st.lists(st.integers(-1, 17) | odd, min_size=7, max_size=9), min_size=7, max_size=9)
dots = st.builds(lambda count, x: [[[x, x]]] * count, st.sampled_from([1, 300, 19_999, 20_001]), st.integers(0, 9))
messages = st.fixed_dictionaries({}, optional={"strokes": strokes | dots, "image": images | odd, "x": odd})


@given(message=messages | odd, cut=st.sampled_from([None, None, None, -1]))
def test_an_odd_drawing_is_an_image_or_refused(message, cut):
    try:
        image = msgspec.json.decode(json.dumps(message)[:cut].encode(), type=Drawing).to_image()
    except ValueError as fault:  # that of msgspec is one too
        event(f"refused: {type(fault).__name__}")
        return
    event("image")
    assert image.shape == (8, 8) and image.dtype == np.uint8 and image.max() <= 16
