"""The command line, run in this process on the fake device."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from gemmbench.backends import registry
from gemmbench.backends.base import Device
from gemmbench.backends.devices import DeviceChoice
from gemmbench.backends.fake.backend import FakeCompiler, FakeExecutable
from gemmbench.backends.fake.script import Script
from gemmbench.cli import main, output
from gemmbench.planning.plans import configurations
from gemmbench.planning.plans.plan import Target
from gemmbench.session.machine import LocalMachine


def cut_after(journal, rows):
    """Leave the header and so many rows of a results file."""
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[: 1 + rows]))


def git(folder, *arguments):
    """What a git command prints."""
    who = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    call = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()


@dataclass
class Outcome:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Everything it said."""
        return self.out + self.err


@pytest.fixture
def gemmbench(tmp_path, monkeypatch, capsys, data_home):
    """Run a command as the shell would, in an empty folder; a traceback fails the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(output, "PERIOD", 1e6)  # a busy machine must not change what is printed
    for name in [name for name in os.environ if name.startswith("GEMMBENCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GEMMBENCH_DATA_DIR", str(data_home))

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["gemmbench", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Outcome(end.value.code or 0, said.out, said.err)

    return run


@pytest.fixture(autouse=True)
def short_audits(few_sets):
    """Commands take few operand sets."""


@pytest.fixture
def few_shapes(monkeypatch):
    """Verify and tune on three small awkward problems."""
    monkeypatch.setattr(configurations, "AWKWARD", (7, 5, 3))
    monkeypatch.setattr(configurations, "SHAPES", ((7, 5, 3), (9, 8, 7)))
    monkeypatch.setattr(configurations, "LARGE", (17, 18, 19))


@pytest.fixture
def script(tmp_path):
    """A script for the fake device; returns what --device takes."""

    def write(**content: object) -> str:
        path = tmp_path / "script.yaml"
        path.write_text(yaml.safe_dump(content))
        return f"fake:{path}"

    return write


@pytest.fixture
def saved(tmp_path):
    """The one results file of this test, and the rows of the CSV beside it."""

    def find(folder: str = "results") -> tuple[Path, list[dict[str, str]]]:
        (journal,) = (tmp_path / folder).glob("*.jsonl")
        with journal.with_suffix(".csv").open() as file:
            return journal, list(csv.DictReader(file))

    return find


@pytest.fixture
def run_three(gemmbench, script):
    """Run three variants; the script of the device is given by keyword."""

    times = {"naive": 2e-3, "tiled": [1e-3, 1e-3], "cublas": 2.5e-4}
    fast = ["--sizes", "32", "--rounds", "10", "--cache", "hot"]

    def go(*arguments, variants=("naive", "tiled", "cublas"), **scripted):
        device = script(**{"times": times, **scripted})
        return gemmbench("run", *variants, "--device", device, *fast, *arguments)

    return go


@pytest.fixture
def refused(gemmbench, tmp_path):
    """The message of a command that must end with this exit code and leave nothing behind."""

    def run(*arguments, code=2):
        said = gemmbench(*arguments)
        assert (said.code, said.out) == (code, "")
        assert not list((tmp_path / "results").glob("*"))
        assert said.err.startswith("gemmbench: ") and said.err.endswith("\n")
        return said.err.removeprefix("gemmbench: ").rstrip("\n")

    return run


@pytest.fixture
def run_naive(gemmbench, script):
    """Run one variant and the baseline at two sizes."""
    sizes = ["--sizes", "16,24", "--rounds", "10", "--cache", "hot"]
    device = script(times={"naive": 2e-3, "cublas": 1e-3})
    return lambda *arguments: gemmbench("run", "naive", "--device", device, *sizes, *arguments)


@pytest.fixture
def windows(monkeypatch):
    """Counts the windows of the device; `at` maps a number of windows to what happens then."""
    whole, seen, at = FakeExecutable.time, [], {}

    def time(self, launches):
        seen.append(launches)
        at.get(len(seen), lambda: None)()
        return whole(self, launches)

    monkeypatch.setattr(FakeExecutable, "time", time)
    return seen, at


@pytest.fixture
def gpu(monkeypatch):
    """A machine that is said to have a GPU, and a compiler that compiles nothing."""
    target = Target("cuda", 90, 132, 227 << 10, 50 << 20, 80 << 30)
    machine = LocalMachine(DeviceChoice("cuda", 1), {"cuda": Device("NVIDIA H100", 1, target)})
    monkeypatch.setattr(registry, "choose_profiled", lambda device, purpose: machine.choice)
    monkeypatch.setattr(registry, "describe_machine", lambda choice: machine)
    monkeypatch.setattr(registry, "make_compilers", lambda machine, names, limit=0: {"cuda": FakeCompiler(Script())})
    monkeypatch.setattr(registry, "why_refused", lambda variant, device: "")
    return machine
