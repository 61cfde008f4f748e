"""Charts through matplotlib: the texts are inside the picture, whatever the chart."""

import pytest

pytest.importorskip("matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from gemmbench.report.charts.draw import draw_chart
from gemmbench.report.charts.figure import render
from gemmbench.report.comparison import compare_rows


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """The figure of a chart, as it was saved."""
    figures = []

    class Kept(Figure):
        def __init__(self, *arguments, **settings):
            super().__init__(*arguments, **settings)
            figures.append(self)

    monkeypatch.setattr(render, "_import_figure", lambda: Kept)

    def draw(chart):
        render.render_matplotlib(chart, tmp_path / "chart.png")
        assert (tmp_path / "chart.png").stat().st_size > 5000
        return figures[-1]

    return draw


def texts_of(figure):
    """Each text with its box in pixels."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    found = figure.findobj(lambda artist: hasattr(artist, "get_text") and artist.get_visible() and artist.get_text())
    return {text.get_text(): text.get_window_extent(canvas.get_renderer()) for text in found}


@pytest.mark.parametrize("kind", ["speed", "ladder", "roofline"])
def test_all_texts_are_inside_the_picture(ladder, timed, drawn, kind):
    names = [f"kernel_number_{index:02}" for index in range(12)]
    rows = (timed(name, 400 + index, size) for index, name in enumerate(names) for size in (256, 1024))
    figure = drawn(draw_chart(kind, [ladder(*rows)]))
    texts = texts_of(figure)
    assert {*names, "naive", "cublas"} <= set(texts)
    width, height = figure.get_size_inches() * figure.dpi
    assert all(box.x0 >= -1 and box.x1 <= width + 1 and box.y0 >= -1 and box.y1 <= height + 1 for box in texts.values())


def test_labels_at_the_ends_of_lines_do_not_overlap(ladder, timed, drawn):
    names = [f"kernel_{index:02}" for index in range(14)]
    rows = (timed(name, 400 + index, size) for index, name in enumerate(names) for size in (256, 1024))
    texts = texts_of(drawn(draw_chart("speed", [ladder(*rows)])))
    boxes = [texts[name] for name in names]
    assert not any(one.overlaps(other) for one in boxes for other in boxes if one is not other)


def test_a_heat_map_has_the_text_of_every_cell(make_run, timed, drawn):
    records = [timed("tile", bm * bn, config={"BM": bm, "BN": bn}) for bm in (8, 16) for bn in (4, 11)]
    texts = texts_of(drawn(draw_chart("heat-map", [compare_rows(make_run(*records))])))
    assert {"32.0", "88", "64", "176", "BM", "BN"} <= set(texts)


def test_dollar_signs_in_names_are_not_mathematics(ladder, timed, drawn):
    texts = texts_of(drawn(draw_chart("ladder", [ladder(timed("$a_b$", 100, 1024))], size="1024", title="$x$ of $y$")))
    assert {"$a_b$", "$x$ of $y$"} <= set(texts)
