"""Where things are placed: widths of text and of charts, text in lines, labels moved apart."""

from __future__ import annotations

from collections.abc import Sequence

from gemmbench.report.charts.model import BarPlot, Chart, LinePlot

WIDTH, MARGIN = 800, 16
"""Of a chart, in pixels. A chart with long names is wider."""
_LEAST_PLOT = 440  # between the axes
_NARROW = set("iljtfrI.,:;'|!()[] ")
_WIDE = set("mwMW%@")


def text_width(text: str, size: float = 12) -> float:
    """An upper estimate in pixels for the fonts of the theme, DejaVu Sans the widest of them."""
    units = sum(0.4 if letter in _NARROW else 0.98 if letter in _WIDE else 0.66 for letter in text)
    return units * size


def widest(texts: Sequence[str]) -> float:
    """The width of the widest text."""
    return max(map(text_width, texts), default=0.0)


def chart_width(chart: Chart) -> int:
    """In pixels: WIDTH, or more if names would leave too little for the plot."""
    plot = chart.plot
    if isinstance(plot, LinePlot):
        texts = widest([each.label for each in plot.series]) + widest([tick.text for tick in plot.y.ticks])
    elif isinstance(plot, BarPlot):
        texts = widest([bar.label for bar in plot.bars]) + widest([bar.text for bar in plot.bars])
        texts += widest([plot.note_label, *(bar.note for bar in plot.bars)])
    else:
        texts = widest([plot.y_label, *plot.rows]) + 100
    return max(WIDTH, round(texts) + _LEAST_PLOT + 4 * MARGIN)


def wrap_text(text: str, width: float, size: float = 12) -> list[str]:
    """The text in lines of at most `width` pixels."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions at least `gap` apart within low to high (if they fit), moved as little as possible.

    Neighbors that would overlap form a block around the mean of what they want (pool adjacent
    violators).
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
