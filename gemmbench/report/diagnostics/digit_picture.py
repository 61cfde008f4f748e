"""One digit as text: its image, the network's probabilities, and whether its guess is right."""

from __future__ import annotations

import numpy as np

_INK = " .:-=+*#%@"
_BAR = 40


def draw_digit(image: np.ndarray) -> list[str]:
    """Draw an image with values 0 to 16 as lines of text; every pixel is two characters wide."""
    shades = np.clip(np.rint(image / 16 * (len(_INK) - 1)).astype(int), 0, len(_INK) - 1)
    return ["".join(_INK[shade] * 2 for shade in row).rstrip() for row in shades]


def describe_guess(probabilities: np.ndarray, label: int, name: str) -> list[str]:
    """A bar for every digit, then the guess of the row `name`."""
    lines = [f"{digit}  {value:7.2%}  {'#' * round(float(value) * _BAR)}" for digit, value in enumerate(probabilities)]
    guess = int(np.argmax(probabilities))
    result = "right" if guess == label else f"wrong, it is {label}"
    return [*(line.rstrip() for line in lines), f"{name} reads {guess}: {result}"]
