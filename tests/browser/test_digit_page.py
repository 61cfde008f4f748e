"""The digit page in a browser: digits are drawn with the mouse and classified by the rows on the CPU."""

import re
import threading

import pytest

from examples.digits.server import open_server
from gemmbench.planning.sweeps.run_request import make_request
from gemmbench.session.machine import find_machine
from gemmbench.session.reporter import SILENT

ROWS = ["cpu_naive", "wpt", "openblas"]
STROKES = {
    "0": [[(0.5, 0.15), (0.3, 0.3), (0.27, 0.6), (0.4, 0.84), (0.6, 0.84), (0.73, 0.6), (0.7, 0.3), (0.5, 0.15)]],
    "1": [[(0.35, 0.3), (0.5, 0.12), (0.5, 0.88)]],
    "4": [[(0.45, 0.1), (0.25, 0.55), (0.75, 0.55)], [(0.6, 0.35), (0.6, 0.9)]],
    "7": [[(0.28, 0.14), (0.72, 0.14), (0.45, 0.88)]],
}


@pytest.fixture(scope="module")
def address():
    """The server on the CPU device, with a small batch."""
    request = make_request("mlp", variants=("cpu_naive", "wpt"))
    with open_server(request, find_machine("cpu", SILENT), batch=2) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.address
        server.shutdown()
        thread.join()


@pytest.fixture
def page(open_page, address):
    return open_page(address)


def draw(page, strokes):
    box = page.locator("#pad").bounding_box()
    places = [[(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke] for stroke in strokes]
    for stroke in places:
        page.mouse.move(*stroke[0])
        page.mouse.down()
        for place in stroke[1:]:
            page.mouse.move(*place, steps=4)
        page.mouse.up()


def wait_for_guess(page, digit):
    """Wait until the page and all of its rows show a digit, or the page "?": it also guesses while it is drawn on."""
    cells = "#guess" if digit == "?" else "#guess, #rows td:nth-of-type(3)"
    shown = f"[...document.querySelectorAll('{cells}')].every(cell => cell.textContent === digit)"
    page.wait_for_function(f"digit => {shown}", arg=digit, timeout=10_000)


@pytest.mark.parametrize("digit", STROKES)
def test_a_drawn_digit_is_read(page, digit):
    draw(page, STROKES[digit])
    wait_for_guess(page, digit)
    best = page.locator(f"#bars .best[data-bar='{digit}']")
    best.wait_for(timeout=10_000)  # it also guesses while the digit is drawn, and those guesses may follow
    page.get_by_text("All 3 results are right.").wait_for(timeout=10_000)


def test_a_digit_is_classified_while_it_is_drawn(page):
    box = page.locator("#pad").bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 100, box["y"] + 200, steps=5)
    wait_for_guess(page, "1")  # the button is still down
    page.mouse.up()


def test_every_row_shows_its_time_and_what_it_read(page):
    draw(page, STROKES["1"])
    wait_for_guess(page, "1")  # every row shows it, if only until the guess of a later part of the stroke
    lines = page.locator("#rows tr")
    assert [line.get_attribute("data-row") for line in lines.all()] == ROWS
    for line in lines.all():
        assert re.fullmatch(r"[\d.]+ [um]s", line.locator("td").nth(0).inner_text())
    assert page.locator("tr.baseline").get_attribute("data-row") == "openblas"


def test_stored_images_are_read_by_button_and_by_key(page):
    page.get_by_role("button", name="8", exact=True).click()
    wait_for_guess(page, "8")
    page.keyboard.press("0")
    wait_for_guess(page, "0")


def test_a_drawing_is_cleared_and_undone(page):
    assert page.locator("#hint").is_visible()
    draw(page, STROKES["4"])
    wait_for_guess(page, "4")
    assert not page.locator("#hint").is_visible()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Undo").click()
    wait_for_guess(page, "?")
    draw(page, STROKES["1"])
    wait_for_guess(page, "1")
    page.get_by_role("button", name="Clear").click()
    wait_for_guess(page, "?")
    assert page.locator("#hint").is_visible() and page.locator("#state").inner_text() == ""


def test_a_finger_draws_too(open_page, address):
    page = open_page(address, viewport={"width": 360, "height": 740}, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator("#pad").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function("() => document.getElementById('guess').textContent !== '?'", timeout=10_000)


def test_the_page_says_when_its_server_has_ended(chromium):
    request = make_request("mlp", variants=("mlp_fused",))
    with open_server(request, find_machine("fake", SILENT), batch=1) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        page = chromium.new_page()
        page.goto(server.address)
        server.shutdown()
        thread.join()
    page.get_by_role("button", name="3", exact=True).click()
    page.get_by_text("The server has ended").wait_for(timeout=10_000)
    page.close()
