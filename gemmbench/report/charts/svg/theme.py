"""Colors, light and dark, as a style sheet whose variables a page can set.

Every color is given twice: as a plain value, for programs that know no variables (librsvg,
Inkscape), and as `var(--gb-NAME, ...)`, so that a page which holds the chart decides. A file of its
own follows the reader's preference for light or dark; print is always light.
"""

from __future__ import annotations

from collections.abc import Mapping

from gemmbench.report.charts.styles import COLORS

LIGHT: Mapping[str, str] = {
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
DARK: Mapping[str, str] = {
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
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def series_color(color: int) -> str:
    """The name of a color of styles.color_of."""
    return f"series-{color + 1}" if 0 <= color < COLORS else "ink"


def style_sheet() -> str:
    """The same text for every chart, so that several of them can be on one page."""
    rules = [
        _declare_variables(LIGHT),
        f"@media screen and (prefers-color-scheme: dark) {{ {_declare_variables(DARK)} }}",
        f".gb-chart text {{ font-family: {FONT}; }}",
    ]
    for name, color in LIGHT.items():
        for role in ("fill", "stroke"):
            rules.append(f".gb-chart .gb-{role}-{name} {{ {role}: {color}; {role}: var(--gb-own-{name}); }}")
    return "\n".join(["", *rules, ""])


def _declare_variables(colors: Mapping[str, str]) -> str:
    variables = " ".join(f"--gb-own-{name}: var(--gb-{name}, {color});" for name, color in colors.items())
    return f".gb-chart {{ {variables} }}"
