"""Sessions on the fake device, in an empty folder."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest
import yaml

from gemmbench.planning.plans import configurations
from gemmbench.planning.sweeps.run_request import Destination, make_request
from gemmbench.session.machine import find_machine
from gemmbench.session.reporter import SILENT, Reporter
from gemmbench.session.tuning_runs import SearchOptions, tune_kernels


class Notes(Reporter):
    """Keeps what a session reports."""

    def __init__(self):
        self.messages, self.steps, self.bars = [], [], 0

    def message(self, text):
        self.messages.append(text)

    @contextmanager
    def progress_bar(self):
        self.bars += 1
        yield lambda what, done, of, left=None, later=0.0: self.steps.append(what)


@pytest.fixture
def notes():
    """A reporter that keeps messages and progress."""
    return Notes()


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """The fake device; the test's folder is the current one."""
    monkeypatch.chdir(tmp_path)
    return find_machine("fake", SILENT)


VALUES = tuple(range(1, 13))


def seconds_of(value):
    """7 is the best, 5 % faster than its neighbours."""
    return 1e-3 * (1 + 0.05 * abs(value - 7))


@pytest.fixture
def few_shapes(monkeypatch, few_sets):
    """Finalists are verified on two awkward problems."""
    monkeypatch.setattr(configurations, "AWKWARD", (7, 5, 3))
    monkeypatch.setattr(configurations, "SHAPES", ((7, 5, 3), (9, 8, 7)))
    monkeypatch.setattr(configurations, "LARGE", (17, 18, 19))


@pytest.fixture
def search(tmp_path, monkeypatch, write_kernel):
    """Tune; returns the result."""
    monkeypatch.chdir(tmp_path)
    write_kernel("mine.cu", params={"T": list(VALUES)}, require=["T != 12"])

    def run(reporter=SILENT, times=None, faults=None, sustained=None, resume=None, overrides=None, **options):
        known = {f"mine T={value}": seconds_of(value) for value in VALUES} | {"cublas": 5e-4}
        script = {"times": known | (times or {}), "faults": faults or {}, "sustained": sustained or {}}
        (tmp_path / "script.yaml").write_text(yaml.safe_dump(script))
        chosen = {"variants": ("mine",), "sizes": "8", "cache": "hot", "rounds": 10} | (overrides or {})
        destination = Destination(tmp_path / "results", resume, "gemmbench tune mine")
        asked = {name: options.pop(name) for name in ("config", "limits") if name in options}
        request = replace(make_request(kernels="kernels", destination=destination, **chosen), **asked)
        how = SearchOptions(**options)
        return tune_kernels(request, find_machine(f"fake:{tmp_path / 'script.yaml'}", SILENT), reporter, how)

    return run
