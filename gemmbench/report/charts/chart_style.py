"""Colors, markers and dashes of series, ticks at round numbers, formatting of numbers, and placement."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from gemmbench.bench.timing.stats import Interval
from gemmbench.report.charts.chart_model import Axis, BarPlot, Chart, LinePlot, Tick
from gemmbench.report.row import Row
from gemmbench.report.text import number_within, with_interval

_COLORS = 6
_MARKERS = ("circle", "square", "triangle", "diamond", "wedge", "pentagon", "star")
_DASHES = ("", "6 3", "2 2.5", "9 3 2 3")


def choose_styles(rows: Sequence[Row]) -> list[int]:
    """Choose a style for each series, given its first row: -1, -2 ... for baselines, and 0, 1 ... for others."""
    styles: list[int] = []
    for row in rows:
        below = row.record.variant == row.environment.baseline
        count = sum((style < 0) == below for style in styles)
        styles.append(-1 - count if below else count)
    return styles


def _color_of(style: int) -> int:
    """Return the index of the color, counted from 0. -1 stands for the color of text, which baselines have."""
    return style % _COLORS if style >= 0 else -1


def marker_of(style: int) -> str:
    """Return the shape of the points."""
    return _MARKERS[_index(style) % len(_MARKERS)]


def dash_of(style: int) -> str:
    """Return the dash pattern for SVG; `none` for a solid line."""
    return _DASHES[(style // _COLORS if style >= 0 else _index(style)) % len(_DASHES)] or "none"


def _index(style: int) -> int:
    return style if style >= 0 else -1 - style


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
    """Return near-black or white, whichever has the higher contrast to `#rrggbb` (WCAG's luminance)."""
    channels = [value / 255 for value in _channels(color)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#111111" if luminance > 0.18 else "#ffffff"


def heat_color(share: float) -> str:
    """Return the color at a share of the heat map's scale, from 0 (dark blue) to 1 (yellow)."""
    place = min(max(share, 0.0), 1.0) * (len(_CIVIDIS) - 1)
    index = min(int(place), len(_CIVIDIS) - 2)
    pairs = zip(_channels(_CIVIDIS[index]), _channels(_CIVIDIS[index + 1]), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * (place - index)):02x}" for low, high in pairs)


def series_color(style: int) -> str:
    """Return the name of the color of a style (styles.color_of)."""
    color = _color_of(style)
    return f"series-{color + 1}" if color >= 0 else "ink"


def _channels(color: str) -> tuple[int, ...]:
    digits = color.removeprefix("#")
    return tuple(int(digits[index : index + 2], 16) for index in (0, 2, 4))


def _add_text_colors(colors: Mapping[str, str]) -> Mapping[str, str]:
    """Add a color `on-NAME` for text on the color of each series."""
    filled = [name for name in colors if name.startswith("series-")]
    return {**colors, **{f"on-{name}": contrasting(colors[name]) for name in filled}}


LIGHT, DARK = _add_text_colors(_LIGHT), _add_text_colors(_DARK)
"""Colors by name. `on-series-1` is for text on `series-1`."""


def format_number(value: float, digits: int = 4) -> str:
    """Format with at most this many significant digits, and integers in full: `51,640`, `98.3`; `-` if unknown."""
    if math.isnan(value):
        return "-"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_estimate(interval: Interval) -> str:
    """Format the value with the digits that its interval supports, at most four: `51,640`."""
    return separate_thousands(number_within(interval.value, interval, 4))


def format_interval(interval: Interval) -> str:
    """Format a value and its interval as `51,640 +- 60`, or only the value if the interval is unknown."""
    return separate_thousands(with_interval(interval))


def separate_thousands(text: str) -> str:
    """Put commas into the numbers of a text, but not into their decimals."""
    return re.sub(r"(?<![.\d])\d{4,}", lambda found: f"{int(found[0]):,}", text)


_STEPS = (1, 2, 2.5, 5, 10)


def make_linear_axis(label: str, highest: float, count: int = 6) -> Axis:
    """Make an axis from 0 to a little above `highest`, with about `count` ticks."""
    step = _round_step(highest / count)
    ticks = [index * step for index in range(math.floor(highest / step * (1 + 1e-9)) + 1)]
    return Axis(label, 0, highest * 1.07, tuple(Tick(value, format_number(value)) for value in ticks))


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in _STEPS if step * power >= least * (1 - 1e-9))


def make_log_axis(label: str, low: float, high: float) -> Axis:
    """Make a logarithmic axis with ticks at powers of ten, and at 2 and 5 times these if there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1,) if last - first > 4 else (1, 2, 5)
    values = [step * 10.0**exponent for exponent in range(first, last + 1) for step in steps]
    ticks = tuple(Tick(value, format_number(value)) for value in values if low <= value <= high)
    return Axis(label, low, high, ticks, log=True)


def make_size_axis(label: str, sizes: Sequence[int]) -> Axis:
    """Make a logarithmic axis with ticks at powers of two, or at the sizes if they span fewer than two powers."""
    low, high = min(sizes), max(sizes)
    powers = [2**exponent for exponent in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]
    shown = powers if len(powers) > 1 else sorted(set(sizes))
    room = (high / low) ** 0.03
    return Axis(label, low / room, high * room, tuple(Tick(value, str(value)) for value in shown), log=True)


WIDTH, SLIM, MARGIN = 800, 400, 16
"""The widths in pixels of a chart and of one for a phone. A chart with long names is wider."""
_LEAST_PLOT = {WIDTH: 440, SLIM: 120}  # between the axes
_NARROW = set("iljtfrI.,:;'|!()[] ")
_WIDE = set("mwMW%@")


def text_width(text: str, size: float = 12) -> float:
    """Estimate the width of a text in pixels, based on DejaVu Sans, the widest font of the theme."""
    units = sum(0.4 if letter in _NARROW else 0.98 if letter in _WIDE else 0.66 for letter in text)
    return units * size


def widest(texts: Sequence[str]) -> float:
    """Return the width of the widest text."""
    return max(map(text_width, texts), default=0.0)


def chart_width(chart: Chart, least: int = WIDTH) -> int:
    """Return the width in pixels: WIDTH or SLIM, or more if names would leave too little room for the plot."""
    plot = chart.plot
    if isinstance(plot, LinePlot):
        texts = widest([each.label for each in plot.series]) + widest([tick.text for tick in plot.y.ticks])
    elif isinstance(plot, BarPlot):
        texts = widest([bar.label for bar in plot.bars]) + widest([bar.text for bar in plot.bars])
        texts += widest([plot.note_label, *(bar.note for bar in plot.bars)])
    else:
        texts = widest([plot.y_label, *plot.rows]) + 100
    return max(least, round(texts) + _LEAST_PLOT[least] + 4 * MARGIN)


def wrap_text(text: str, width: float, size: float = 12) -> list[str]:
    """Wrap a text into lines of at most `width` pixels."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions as little as possible so that they are at least `gap` apart and, if they fit, within low to high.

    Neighbors that would overlap form a block around the mean of their wanted positions (pool adjacent violators).
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    blocks: list[list[float]] = []  # what the members want, less their offset in the block
    for rank, index in enumerate(order):
        blocks.append([wanted[index] - rank * gap])
        while len(blocks) > 1 and _mean(blocks[-2]) > _mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    free = [_mean(block) for block in blocks for _ in block]
    placed = [min(max(start, low), max(low, high - (len(order) - 1) * gap)) for start in free]
    positions = [0.0] * len(wanted)
    for rank, index in enumerate(order):
        positions[index] = placed[rank] + rank * gap
    return positions


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
