"""The claims of trust.py, one a file: `check(folder)` measures and returns a Claim."""

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
    """What is claimed, a table of what was measured, that in a line, and whether the claim holds."""

    statement: str
    shown: str
    found: str
    holds: bool


def table(rows: Sequence[Sequence[object]], head: Sequence[str]) -> str:
    """Rows as text."""
    return tabulate([[str(cell) for cell in row] for row in rows], head, tablefmt="simple", disable_numparse=True)


def command(*arguments: str) -> list[str]:
    """gemmbench with these arguments, as this interpreter runs it."""
    return [sys.executable, "-m", "gemmbench", *arguments]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run gemmbench."""
    return subprocess.run(command(*arguments), capture_output=True, text=True)


def sweep(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """The rows of `gemmbench run`, as its JSON export has them. Raises RuntimeError if there are none."""
    path = folder / "rows.json"
    done = run("run", *arguments, "--out", str(folder), "--export-json", str(path))
    if not path.exists():
        raise RuntimeError(f"gemmbench run {' '.join(arguments)}: {done.stderr}")
    rows = json.loads(path.read_text())["rows"]
    path.unlink()
    return list(rows)
