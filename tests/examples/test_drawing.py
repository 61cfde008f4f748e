"""Strokes become images like those of the training data, wherever and however large they are."""

import numpy as np
import pytest

from examples.digits.drawing import draw_image
from gemmbench.bench.operands.network_parameters import load_parameters, upscale_images
from gemmbench.bench.verify.network_reference import propagate
from gemmbench.planning.files import data_folder
from gemmbench.planning.networks import Network

NETWORK = Network((784, 100, 100, 10), ("relu", "relu", "softmax"), 1)


def arc(x, y, rx, ry, start, end):
    angles = np.radians(np.linspace(start, end, 24))
    return np.stack([x + rx * np.cos(angles), y + ry * np.sin(angles)], axis=1)


def path(*points):
    return np.array(points, float)


DIGITS = {
    0: [arc(50, 70, 45, 70, -90, 270)],
    1: [path((20, 30), (50, 0), (50, 140))],
    2: [np.concatenate([arc(50, 40, 42, 40, -170, 30), path((5, 140), (95, 140))])],
    3: [np.concatenate([arc(45, 36, 42, 36, -160, 90), arc(45, 104, 50, 36, -90, 150)])],
    4: [path((55, 0), (5, 85), (95, 85)), path((65, 45), (65, 140))],
    5: [np.concatenate([path((85, 2), (20, 2), (15, 60)), arc(42, 97, 46, 42, -120, 140)])],
    6: [np.concatenate([arc(95, 95, 85, 95, -100, -170), arc(50, 100, 42, 40, 170, -190)])],
    7: [path((5, 2), (90, 2), (40, 140)), path((25, 70), (85, 70))],
    8: [arc(50, 36, 36, 36, 90, -270), arc(50, 106, 44, 34, -90, 270)],
    9: [arc(50, 38, 40, 38, 0, -360), path((90, 38), (85, 140))],
}


@pytest.fixture(scope="module")
def parameters():
    return load_parameters(data_folder("configs") / "mlp" / "digits.npz", NETWORK)


@pytest.mark.parametrize("digit", DIGITS)
def test_a_drawn_digit_is_recognized(parameters, digit):
    image = draw_image(DIGITS[digit])
    assert propagate(NETWORK, parameters, upscale_images(image[None])).outputs.argmax() == digit


@pytest.mark.parametrize("digit", DIGITS)
def test_its_place_and_size_do_not_matter(digit):
    moved = [0.5 * stroke + 300 for stroke in DIGITS[digit]]
    assert np.abs(draw_image(moved).astype(int) - draw_image(DIGITS[digit])).max() <= 1


@pytest.mark.parametrize("digit", DIGITS)
def test_as_much_is_black_as_in_the_training_data(parameters, digit):
    usual = parameters.digits.images.mean() / 16
    assert draw_image(DIGITS[digit]).mean() / 16 == pytest.approx(usual, abs=0.06)


def test_a_digit_fills_the_height_and_is_centred():
    image = draw_image(DIGITS[0])
    assert image[0].any() and image[-1].any()
    columns = np.flatnonzero(image.any(axis=0))
    assert columns[0] == 7 - columns[-1]


@pytest.mark.parametrize("strokes", [[path((5, 5))], [path((5, 5), (5, 5))], [path((0, 0), (90, 0))]])
def test_a_dot_and_a_flat_line_are_images_too(strokes):
    image = draw_image(strokes)
    assert image.shape == (8, 8) and image.sum() > 0 and image.max() <= 16


def test_a_long_stroke_is_drawn_from_end_to_end():
    many = np.stack([np.linspace(0, 100, 5001), np.linspace(0, 140, 5001)], axis=1)
    assert np.array_equal(draw_image([many]), draw_image([many[[0, -1]]]))
