"""The colors of charts, light and dark, and the colors of heat maps.

Series have the colors of M. Okabe and K. Ito, "Color universal design", 2008, lighter on dark paper.
Heat maps have those of cividis: J. R. Nuñez, C. R. Anderton, R. S. Renslow, "Optimizing colormaps
with consideration for color vision deficiency", 2018.
"""

from __future__ import annotations

from collections.abc import Mapping

from gemmbench.report.charts.styles import color_of

_LIGHT = {
    "paper": "#ffffff",
    "ink": "#1f2328",
    "muted": "#59636e",
    "grid": "#e3e7eb",
    "axis": "#9aa4ae",
    "limit": "#6e7781",
    "series-1": "#0072b2",
    "series-2": "#d55e00",
    "series-3": "#009e73",
    "series-4": "#cc79a7",
    "series-5": "#e69f00",
    "series-6": "#56b4e9",
}
_DARK = {
    "paper": "#0d1117",
    "ink": "#e6edf3",
    "muted": "#9aa5b1",
    "grid": "#262d36",
    "axis": "#59636e",
    "limit": "#9aa5b1",
    "series-1": "#4c9be8",
    "series-2": "#f0763b",
    "series-3": "#2fbf95",
    "series-4": "#dd9cc0",
    "series-5": "#f0b23a",
    "series-6": "#8fd0f7",
}
_CIVIDIS = ("00224e", "123570", "3b496c", "575d6d", "707173", "8a8678", "a59c74", "c3b369", "e1cc55", "fee838")


def contrasting(color: str) -> str:
    """Near black or white, whichever has the higher contrast to `#rrggbb` (WCAG's luminance)."""
    channels = [value / 255 for value in _channels(color)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#111111" if luminance > 0.18 else "#ffffff"


def heat_color(share: float) -> str:
    """The color at a share of the scale of heat maps, from 0 (dark blue) to 1 (yellow)."""
    place = min(max(share, 0.0), 1.0) * (len(_CIVIDIS) - 1)
    index = min(int(place), len(_CIVIDIS) - 2)
    pairs = zip(_channels(_CIVIDIS[index]), _channels(_CIVIDIS[index + 1]), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * (place - index)):02x}" for low, high in pairs)


def series_color(style: int) -> str:
    """The name of the color of a style (styles.color_of)."""
    color = color_of(style)
    return f"series-{color + 1}" if color >= 0 else "ink"


def _channels(color: str) -> tuple[int, ...]:
    digits = color.removeprefix("#")
    return tuple(int(digits[index : index + 2], 16) for index in (0, 2, 4))


def _add_text_colors(colors: Mapping[str, str]) -> Mapping[str, str]:
    """The colors, and `on-NAME` for text on each color of a series."""
    filled = [name for name in colors if name.startswith("series-")]
    return {**colors, **{f"on-{name}": contrasting(colors[name]) for name in filled}}


LIGHT, DARK = _add_text_colors(_LIGHT), _add_text_colors(_DARK)
"""Colors by name. `on-series-1` is for text on `series-1`."""
