"""Parts from files of the repository, and from the output of commands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping

from gemmbench.errors import BAD_ROW, OK, StoreError
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


def _write_output(_: Page, *words: str) -> str:
    """The command as it is typed, and what it prints. Raises StoreError if it fails."""
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
    return "\n".join(["```console", f"$ {shlex.join(call)}", "\n".join(lines).strip(), "```"])


def _clean_environment() -> dict[str, str]:
    """The environment without the options of gemmbench, so that the output is the same everywhere."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GEMMBENCH_") or name == _CACHE}
    return {**kept, "COLUMNS": _COLUMNS, "PYTHONPATH": str(ROOT)}


KINDS: Mapping[str, Callable[..., str]] = {"file": _write_file, "script": _write_script, "output": _write_output}
