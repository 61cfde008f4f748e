"""The style sheet: colors, light and dark, as variables that a page can set.

Every color is given twice: as a plain value, for programs that know no variables (librsvg,
Inkscape), and as `var(--gb-NAME, ...)`, so that a page which holds the chart decides. A file of its
own follows the reader's preference for light or dark; print is always light.
"""

from __future__ import annotations

from collections.abc import Mapping

from gemmbench.report.charts.palette import DARK, LIGHT

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def style_sheet() -> str:
    """The same text for every chart, so that several of them can be on one page."""
    rules = [
        _declare_variables(LIGHT),
        f"@media screen and (prefers-color-scheme: dark) {{ {_declare_variables(DARK)} }}",
        f".gb-chart text {{ font-family: {FONT}; }}",
        ".gb-chart .gb-halo { paint-order: stroke; stroke-width: 4px; stroke-linejoin: round; }",
    ]
    for name, color in LIGHT.items():
        for role in ("fill", "stroke"):
            rules.append(f".gb-chart .gb-{role}-{name} {{ {role}: {color}; {role}: var(--gb-own-{name}); }}")
    return "\n".join(["", *rules, ""])


def _declare_variables(colors: Mapping[str, str]) -> str:
    variables = " ".join(f"--gb-own-{name}: var(--gb-{name}, {color});" for name, color in colors.items())
    return f".gb-chart {{ {variables} }}"
