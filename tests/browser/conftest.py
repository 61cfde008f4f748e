"""One Chromium for the tests of pages: that of GEMMBENCH_CHROMIUM, or `chromium` on the PATH.

`playwright install` would download a browser; these tests take an installed one instead, and are
skipped without it. pytest-xdist starts one for each of its workers at most.
"""

from __future__ import annotations

import os
import shutil

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


@pytest.fixture(scope="session")
def chromium():
    """The browser, or a skip."""
    program = os.environ.get("GEMMBENCH_CHROMIUM") or shutil.which("chromium")
    if not program:
        pytest.skip("no Chromium: install one, or name it in GEMMBENCH_CHROMIUM")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def shared_context(chromium):
    """The context of pages that need no settings of their own."""
    context = chromium.new_context(viewport={"width": 1200, "height": 800})
    yield context
    context.close()


@pytest.fixture
def open_page(chromium, shared_context):
    """Open a page; settings give it a context of its own.

    At the end it must have asked no other server for anything, and have reported no error.
    """
    opened, faults = [], []

    def open_address(address, **settings):
        context = chromium.new_context(**settings) if settings else shared_context
        page = context.new_page()
        opened.append(context if settings else page)
        page.set_default_timeout(5000)
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.on("request", lambda request: None if request.url.startswith(address) else faults.append(request.url))
        page.goto(address)
        return page

    yield open_address
    for each in opened:
        each.close()
    assert faults == []
