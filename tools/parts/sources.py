"""Parts from files of the repository, and from the output of commands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from gemmbench.errors import BAD_ROW, OK, StoreError
from gemmbench.report.comparison import compare_rows
from gemmbench.report.store.reading import read_results
from tools.citations import Citation, cite_run
from tools.page import ROOT, Page

_LANGUAGES = {".cu": "cuda", ".cuh": "cuda", ".py": "python", ".yaml": "yaml", ".yml": "yaml", ".cpp": "cpp"}
_COLUMNS, _CACHE = "94", "GEMMBENCH_CACHE_DIR"


def _write_file(_: Page, name: str) -> str:
    path = ROOT / name
    if not path.is_file():
        raise StoreError(f"no file {name}")
    return f"```{_LANGUAGES.get(path.suffix, 'text')}\n{path.read_text(encoding='utf-8').strip()}\n```"


def _write_script(_: Page, name: str) -> str:
    """The cells of a script in the format of Jupytext: Markdown as text, the rest as code."""
    path = ROOT / name
    if not path.is_file():
        raise StoreError(f"no file {name}")
    return "\n\n".join(_format_cells(path.read_text(encoding="utf-8")))


def _format_cells(text: str) -> Iterator[str]:
    for cell in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        kind, _, body = cell.partition("\n")
        if "markdown" in kind:
            yield re.sub(r"^# ?", "", body.strip(), flags=re.MULTILINE)
        else:
            yield f"```python\n{body.strip()}\n```"


def _write_output(page: Page, *words: str) -> str:
    """The command as you type it, and its output. Raises StoreError if it fails."""
    if "gemmbench" not in words:
        raise StoreError("the command must be gemmbench")
    start = words.index("gemmbench")
    choices, call = dict(word.split("=", 1) for word in words[:start]), words[start:]
    done = subprocess.run(
        [sys.executable, "-m", *call],
        cwd=ROOT / choices.get("cd", ""),
        env=_clean_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode not in (OK, BAD_ROW):
        raise StoreError(f"exit code {done.returncode}: {done.stderr.strip()}")
    lines = [line for line in done.stdout.splitlines() if "drop" not in choices or choices["drop"] not in line]
    whose = [f"\n{citation}" for citation in _cite_files(page, call)]
    return "\n".join(["```console", f"$ {shlex.join(call)}", "\n".join(lines).strip(), "```", *whose])


def _cite_files(page: Page, words: Sequence[str]) -> list[Citation]:
    """Cite the files of results/ that a command shows."""
    found = [ROOT / word for word in words if word.startswith("results/") and (ROOT / word).is_file()]
    comparisons = [compare_rows(read_results(path)) for path in found]
    return [cite_run(page, each, each.run.full_records) for each in comparisons]


def _cite_output(page: Page, *words: str) -> str:
    """Only cite the files that the output of a command shows, without running it."""
    return "\n".join(map(str, _cite_files(page, words)))


def _clean_environment() -> dict[str, str]:
    """The environment without gemmbench's options, so the output is the same everywhere."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GEMMBENCH_") or name == _CACHE}
    return {**kept, "COLUMNS": _COLUMNS, "PYTHONPATH": str(ROOT)}


KINDS: Mapping[str, Callable[..., str]] = {"file": _write_file, "script": _write_script, "output": _write_output}
CITING: Mapping[str, Callable[..., str]] = {"output": _cite_output}
