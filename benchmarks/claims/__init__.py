"""The claims of trust.py, one module each: `check(folder)` measures and returns a Claim."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabulate import tabulate


@dataclass(frozen=True)
class Claim:
    """A claim, a table of the measurements, their result in one line, and whether the claim holds."""

    statement: str
    details: str
    result: str
    holds: bool


def format_table(rows: Sequence[Sequence[object]], head: Sequence[str]) -> str:
    """Return the rows as a plain-text table."""
    return tabulate([[str(cell) for cell in row] for row in rows], head, tablefmt="simple", disable_numparse=True)


def command(*arguments: str) -> list[str]:
    """Return the command that runs gemmbench with this interpreter."""
    return [sys.executable, "-m", "gemmbench", *arguments]


def run_gemmbench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run gemmbench and capture its output."""
    return subprocess.run(command(*arguments), capture_output=True, text=True)


def run_sweep(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """Run `gemmbench run` and return its rows as in its JSON export.

    The results file stays in `folder`. Raises RuntimeError if there are no rows.
    """
    path = folder / "rows.json"
    done = run_gemmbench("run", *arguments, "--out", str(folder), "--export-json", str(path))
    if not path.exists():
        raise RuntimeError(f"gemmbench run {' '.join(arguments)}: {done.stderr}")
    rows = json.loads(path.read_text())["rows"]
    path.unlink()
    return list(rows)
