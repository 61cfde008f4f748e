"""The page of `gemmbench report` in a browser, from a file: sorting, filters, tooltips, themes."""

import msgspec
import pytest

from gemmbench.bench.record import Environment, Record
from gemmbench.planning.problems import Problem
from gemmbench.report.comparison import compare_rows
from gemmbench.report.page.report_page import render_page
from gemmbench.report.store.recorded_run import Run

ENVIRONMENT = Environment(
    run="20260101-120000-quick-abcd",
    started="2026-01-01T12:00:00+00:00",
    sweep="quick",
    command="gemmbench run",
    gemmbench="0.1.0",
    device="Fake GPU",
    backend="fake",
    baseline="cublas",
    sm=90,
    sms=10,
)
TIMES = {"naive": 9e-3, "tiled": 1e-3, "wpt": 2e-3, "cublas": 5e-4}


def make_record(variant, size, **changed):
    seconds = TIMES[variant] * (size / 64) ** 3
    good = {
        "order": float(list(TIMES).index(variant)),
        "config": {"BX": 16, "BY": 16} if variant == "naive" else {},
        "backend": "fake",
        "problem": Problem(size, size, size),
        "status": "ok",
        "samples": [seconds] * 10,
        "rounds": list(range(10)),
        "blocks": [number // 2 for number in range(10)],
        "batch": size,
        "batch_key": str(size),
        "registers": 32,
    }
    return Record(variant=variant, **{**good, **changed})


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    records = [make_record(variant, size) for size in (64, 128) for variant in TIMES]
    records[1] = make_record(
        "tiled", 64, status="wrong", samples=[], rounds=[], blocks=[], reason="C[0][0] = 4, should be 8"
    )
    before = [msgspec.structs.replace(record, samples=[2e-3] * 10) for record in records if record.samples]
    run, reference = (Run(ENVIRONMENT, rows, finished="2026-01-01") for rows in (records, before))
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render_page([compare_rows(run)], compare_rows(reference)), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(open_page, address):
    return open_page(address)


def kernels(page):
    """The kernels of the visible rows, from the top."""
    return page.locator("#rows tr[data-status]:visible td:nth-child(2)").all_inner_texts()


def heading(page, name):
    return page.locator("#rows thead").get_by_role("button", name=name, exact=True)


def test_a_heading_sorts_the_rows_of_each_problem(page):
    given = kernels(page)
    column = page.locator("#rows th", has=page.get_by_role("button", name="time (ms)", exact=True))
    heading(page, "time (ms)").click()
    assert column.get_attribute("aria-sort") == "ascending"
    assert kernels(page) == ["cublas", "wpt", "naive", "tiled", "cublas", "tiled", "wpt", "naive"]
    heading(page, "time (ms)").click()
    assert column.get_attribute("aria-sort") == "descending"
    assert kernels(page) == ["naive", "wpt", "cublas", "tiled", "naive", "wpt", "tiled", "cublas"]
    heading(page, "time (ms)").click()
    assert column.get_attribute("aria-sort") is None
    assert kernels(page) == given


def test_headings_are_sorted_with_the_keyboard(page):
    heading(page, "kernel").focus()
    page.keyboard.press("Enter")
    assert kernels(page)[:4] == ["cublas", "naive", "tiled", "wpt"]
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.locator("#rows [aria-sort]").count() == 1


def test_one_list_sorts_across_problems(page):
    page.get_by_label("One list").check()
    assert page.locator("#rows td.problem:visible").count() == 8
    heading(page, "time (ms)").click()
    assert kernels(page) == ["cublas", "wpt", "cublas", "tiled", "naive", "wpt", "naive", "tiled"]
    page.get_by_label("One list").uncheck()
    assert page.locator("#rows .group:visible").count() == 2
    assert kernels(page)[:4] == ["cublas", "wpt", "naive", "tiled"]


@pytest.mark.parametrize(
    ("label", "choice", "shown"),
    [
        ("Filter by kernel", "wpt", ["wpt", "wpt"]),
        ("Filter by status", "wrong", ["tiled"]),
        ("Filter by problem", "128 nn f32", ["naive", "tiled", "wpt", "cublas"]),
    ],
)
def test_rows_are_filtered_by_a_choice(page, label, choice, shown):
    page.get_by_label(label).select_option(choice)
    assert sorted(kernels(page)) == sorted(shown)
    assert page.locator("#count").inner_text() == f"{len(shown)} of 8 rows"


def test_rows_are_searched_by_words(page):
    page.get_by_label("Search the rows").fill("WPT 64")
    assert kernels(page) == ["wpt"]
    assert page.locator("#rows .group:visible").count() == 1
    page.get_by_label("Search the rows").fill("nowhere")
    assert kernels(page) == []
    assert page.get_by_text("No row matches.").is_visible()
    page.get_by_label("Search the rows").fill("")
    assert len(kernels(page)) == 8


def test_details_are_shown_on_request(page):
    registers = page.locator("#rows").get_by_role("button", name="registers")
    assert not registers.is_visible()
    page.get_by_label("All columns").check()
    assert registers.is_visible()


def test_differences_are_sorted_too(page):
    table = page.locator("#differences table")
    table.get_by_role("button", name="kernel").click()
    assert table.locator("tr[data-status] td:nth-child(2)").all_inner_texts()[:3] == ["cublas", "naive", "wpt"]


def test_a_failed_row_is_explained(page):
    box = page.locator("#failures details", has_text="tiled")
    assert box.locator(".reason").inner_text() == "C[0][0] = 4, should be 8"
    assert box.get_by_text("gemmbench run tiled --sizes 64").is_visible()


def test_the_status_of_a_failed_row_leads_to_its_explanation(page):
    box = page.locator("#failures details", has_text="tiled")
    box.locator("summary").click()
    assert not box.get_by_text("gemmbench run tiled").is_visible()
    page.locator("#rows").get_by_role("link", name="wrong").click()
    assert box.get_by_text("gemmbench run tiled").is_visible()


def test_a_mark_under_the_pointer_has_a_tooltip(page):
    tip = page.locator("#tip")
    assert not tip.is_visible()
    mark = page.locator(".charts [data-tip]", has=page.locator("path")).first
    mark.scroll_into_view_if_needed()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    mark.hover()
    tip.wait_for()
    assert tip.inner_text()
    page.mouse.move(5, 5)
    tip.wait_for(state="hidden")
    assert page.locator("svg title").count() == 0


def test_the_arrow_keys_go_from_mark_to_mark(page):
    figure = page.locator(".charts figure").first
    figure.scroll_into_view_if_needed()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    figure.focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("#tip").inner_text()
    page.keyboard.press("ArrowRight")
    assert first and page.locator("#tip").inner_text() != first
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_the_theme_is_that_of_the_system_until_it_is_switched(open_page, address):
    light = open_page(address, color_scheme="light")
    dark = open_page(address, color_scheme="dark")
    assert background(light) != background(dark)
    both = [background(light), background(dark)]
    light.get_by_role("button", name="Dark theme").click()
    dark.get_by_role("button", name="Light theme").click()
    assert [background(light), background(dark)] == both[::-1]


def test_charts_follow_the_theme(open_page, address):
    page = open_page(address, color_scheme="light")

    def paper():
        return page.evaluate("getComputedStyle(document.querySelector('.gb-chart rect')).fill")

    before = paper()
    page.get_by_role("button", name="Dark theme").click()
    assert paper() != before


def test_print_is_light_and_has_no_controls(open_page, address):
    page = open_page(address, color_scheme="light")
    before = background(page)
    page.get_by_role("button", name="Dark theme").click()
    page.emulate_media(media="print")
    assert background(page) in (before, "rgb(255, 255, 255)")
    assert not page.locator(".toolbar").is_visible() and not page.locator(".bar").is_visible()


PHONE = {"viewport": {"width": 390, "height": 740}}


def overflow(page):
    """How much wider the widest table and the page are than what shows them, in pixels."""
    return page.evaluate(
        """Math.max(document.documentElement.scrollWidth - innerWidth,
        ...[...document.querySelectorAll('.scroll')].map(box => box.firstElementChild.offsetWidth - box.clientWidth))"""
    )


def test_on_a_phone_every_number_that_matters_is_on_the_screen(open_page, address):
    page = open_page(address, **PHONE)
    assert overflow(page) <= 0
    row = page.locator("#rows tr[data-status='ok']").first
    cells = [cell.inner_text() for cell in row.locator("td:visible").all()]
    assert cells[0] == "naive" and cells[1].startswith("9.0") and cells[2].startswith("5.55") and cells[3] == "ok"
    below = row.locator("td:visible").first.evaluate("cell => getComputedStyle(cell, '::after').content")
    assert below == '"BX=16 BY=16"'
    page.get_by_label("All columns").check()
    assert overflow(page) > 0 and page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_table_that_is_too_wide_moves_configurations_and_then_hides_columns(open_page, address):
    headings = {}
    for width in (1280, 720, 560):
        page = open_page(address, viewport={"width": width, "height": 800})
        assert overflow(page) <= 0
        shown = page.locator("#rows thead th:visible").all_inner_texts()
        headings[width] = [text.split()[0] for text in shown]
    assert "configuration" in headings[1280] and "configuration" not in headings[560]
    assert len(headings[560]) < len(headings[720]) and {"kernel", "time", "status"} <= set(headings[560])


def test_text_in_charts_is_large_enough_on_a_phone(open_page, address):
    page = open_page(address, **PHONE)
    sizes = page.evaluate(
        """[...document.querySelectorAll('.charts text')].filter(text => text.getClientRects().length)
        .map(text => parseFloat(text.getAttribute('font-size')) * text.getScreenCTM().a)"""
    )
    assert len(sizes) > 10 and min(sizes) > 9
    edges = page.evaluate(
        """[...document.querySelectorAll('.charts svg text')].filter(text => text.getClientRects().length)
        .map(text => text.getBoundingClientRect()).flatMap(box => [box.left, innerWidth - box.right])"""
    )
    assert min(edges) >= 0


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_headings_stay_below_the_bar_while_the_page_scrolls(open_page, address, width, every):
    page = open_page(address, viewport={"width": width, "height": 300})
    page.get_by_label("All columns").set_checked(every)
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every(box => box.scrollHeight <= box.clientHeight)")
    page.locator("#rows tr[data-status]").nth(4).evaluate("row => scrollBy(0, row.getBoundingClientRect().top - 150)")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    bar, heading = page.locator(".bar").bounding_box(), page.locator("#rows thead th:visible").first.bounding_box()
    assert heading["y"] == pytest.approx(bar["y"] + bar["height"], abs=2)


def opacities(figure):
    """Of each visible series, by name."""
    return figure.evaluate(
        """figure => Object.fromEntries(
        [...figure.querySelectorAll('[data-series]')].filter(each => each.getClientRects().length)
        .map(each => [each.dataset.series, getComputedStyle(each).opacity]))"""
    )


def test_the_legend_highlights_the_series_that_it_names(open_page, address):
    page = open_page(address, reduced_motion="reduce")
    page.add_style_tag(content="* { transition: none !important }")
    figure = page.locator(".charts figure").first
    name = figure.locator("[data-legend]:visible", has_text="wpt")
    assert set(opacities(figure).values()) == {"1"}
    name.hover()
    assert opacities(figure) == {"naive": "0.12", "tiled": "0.12", "cublas": "0.12", "wpt": "1"}
    page.mouse.move(2, 2)
    assert set(opacities(figure).values()) == {"1"}
    name.click()
    page.mouse.move(2, 2)
    assert opacities(figure)["wpt"] == "1" and opacities(figure)["naive"] == "0.12"
    page.locator("h1").click()
    assert set(opacities(figure).values()) == {"1"}


@pytest.mark.parametrize(
    ("number", "labels", "titles"),
    [
        (0, ["GFLOPS", "% of cublas", "GFLOPS, logarithmic"], ["Speed over matrix size", "Speed relative to cublas"]),
        (1, ["128 nn f32", "64 nn f32"], ["The ladder at 128", "The ladder at 64"]),
    ],
)
def test_a_chart_lets_choose_its_unit_or_problem(page, number, labels, titles):
    choice, shown = (page.locator(".kind").nth(number).locator(each) for each in ("select", "figure:visible"))
    assert choice.locator("option").all_inner_texts() == labels
    for label, title in zip(labels, titles, strict=False):
        choice.select_option(label)
        assert shown.count() == 1 and shown.locator("svg:visible").get_attribute("aria-label") == title


def test_what_failed_comes_first_and_leads_to_its_explanation(page):
    card = page.locator("#summary li").first
    assert card.inner_text().split("\n") == ["64 nn f32", "tiled", "wrong", "C[0][0] = 4, should be 8"]
    page.locator("#failures summary").click()
    card.get_by_role("link", name="wrong").click()
    assert page.locator("#failures").get_by_text("gemmbench run tiled").is_visible()


def test_without_scripts_there_are_plain_tables(open_page, address):
    page = open_page(address, java_script_enabled=False)
    assert not page.locator(".toolbar").is_visible() and not page.locator("#theme").is_visible()
    assert len(page.locator("#rows tr[data-status]:visible").all()) == 8
    assert page.locator("#rows").get_by_text("registers").is_visible()


def test_text_of_a_run_does_not_run(open_page, tmp_path):
    evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    records = [make_record("tiled", 64, status="wrong", reason=evil, wrong_map=evil, samples=[], rounds=[])]
    run = Run(msgspec.structs.replace(ENVIRONMENT, device=evil, command=evil), records, finished="2026-01-01")
    path = tmp_path / "evil.html"
    path.write_text(render_page([compare_rows(run)]), encoding="utf-8")
    page = open_page(path.as_uri())
    assert "owned" not in page.title().replace(evil, "")
    assert page.locator("img").count() == 0
    assert page.locator("#failures .reason").inner_text() == evil
