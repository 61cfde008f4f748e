"""Sessions on the fake device, in an empty folder."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from gemmbench.session.machine import find_machine
from gemmbench.session.reporter import SILENT, Reporter


class Notes(Reporter):
    """Keeps what a session reports."""

    def __init__(self):
        self.messages, self.steps, self.bars = [], [], 0

    def message(self, text):
        self.messages.append(text)

    @contextmanager
    def progress_bar(self):
        self.bars += 1
        yield lambda what, done, of, left=None: self.steps.append(what)


@pytest.fixture
def notes():
    """A reporter that keeps messages and progress."""
    return Notes()


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """The fake device; the test's folder is the current one."""
    monkeypatch.chdir(tmp_path)
    return find_machine("fake", SILENT)
