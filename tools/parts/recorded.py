"""Parts from recorded files: tables of benchmarks, counters of profiles, the text of a file, and what there is."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gemmbench.bench.origin import Origin, split_origins
from gemmbench.errors import StoreError
from tools.citations import cite_text, cite_whole
from tools.page import Page
from tools.parts.tables import find_files, newest_file

_RECORDED = re.compile(r"\d{4}-\d\d-\d\d[a-z]?-([\w-]+)\.")


def _write_rows(page: Page, pattern: str, *words: str) -> str:
    """A CSV of a program in benchmarks/: the lines that begin with a given word, or all. Raises StoreError."""
    path = newest_file(pattern)
    origin, text = _read_text(path)
    head, *lines = csv.reader(io.StringIO(text))
    names = [word for word in words if not word.startswith("columns=")]
    columns = next((word.partition("=")[2].split(",") for word in words if word not in names), head)
    if unknown := {*names, *columns} - {*head, *(line[0] for line in lines)}:
        raise StoreError(f"no '{min(unknown)}' in {pattern}")
    chosen = [line for line in lines if not names or line[0] in names]
    table = _format_markdown(columns, [[line[head.index(column)] for column in columns] for line in chosen])
    return f"{table}\n\n{cite_text(page, path, origin, table)}"


def _read_text(path: Path) -> tuple[Origin | None, str]:
    """The text of a file, and the origin above it, if there is one."""
    parts = split_origins(path.read_text(encoding="utf-8"))
    return parts[0][0], "".join(text for _, text in parts)


def _format_markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:" if _is_number(lines[0][column]) else "---" for column in range(1, len(head))]]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])


def _is_number(cell: str) -> bool:
    return bool(re.match(r"\d[\d.,]*( |%|$)", cell))


def _write_text(page: Page, pattern: str, command: str = "") -> str:
    """A recorded text, or the first that begins with these words in a file with the outputs of several commands. Raises
    StoreError.
    """
    path = newest_file(pattern)
    origin, text = _read_text(path)
    text = text.strip()
    if command:
        text = _find_output(text, command, pattern)
    language = "console" if text.startswith("$ ") else "text"
    return f"```{language}\n{text}\n```\n\n{cite_text(page, path, origin, text)}"


def _find_output(text: str, command: str, pattern: str) -> str:
    """In a file with the outputs of several commands, the first that begins with these words. Raises StoreError."""
    outputs = re.split(r"^(?=\$ )", text, flags=re.MULTILINE)
    found = next((each.strip() for each in outputs if each.startswith(f"$ {command}")), "")
    if not found:
        raise StoreError(f"no output of '{command}' in {pattern}")
    return found


def _write_profile(page: Page, pattern: str, *words: str) -> str:
    """Some counters of recorded profiles, with a line for each; for a single one also its bound.

    `words` are the beginnings of the commands and `counters=a,b`. Raises StoreError.
    """
    path = newest_file(pattern)
    origin, text = _read_text(path)
    counters = next((word.partition("=")[2].split(",") for word in words if word.startswith("counters=")), [])
    commands = [word for word in words if not word.startswith("counters=")]
    outputs = [_find_output(text, command, pattern) for command in commands]
    lines = [
        [output.split("\n\n")[1].strip(), *(_find_counter(output, name) for name in counters)] for output in outputs
    ]
    table = _format_markdown(["profile", *counters], lines)
    verdict = re.findall(r"^(?:Mostly b|B)ound by .*$", outputs[0], re.MULTILINE) if len(outputs) == 1 else []
    return "\n\n".join([table, "\n".join([*verdict, str(cite_text(page, path, origin, table))])])


def _find_counter(output: str, name: str) -> str:
    """The counts of a profile of one launch. Raises StoreError."""
    found = re.findall(rf"^{re.escape(name)} {{2,}}(.*)$", output, re.MULTILINE)
    if len(found) != 1:
        raise StoreError(f"{len(found)} counters '{name}' in '{output.partition(chr(10))[0]}', not one")
    return str(found[0]).strip()


def _write_record(page: Page, folder: str) -> str:
    """What the newest file of each command of benchmarks/record.py comes from, and how long the commands took.

    Raises StoreError.
    """
    with newest_file(f"{folder}/durations.csv").open(newline="", encoding="utf-8") as file:
        seconds = {row["name"]: float(row["seconds"]) for row in csv.DictReader(file)}
    groups: dict[tuple[str, str, str], list[str]] = {}
    newest = {match[1]: path for path in find_files(f"{folder}/*") if (match := _RECORDED.match(path.name))}
    for name in sorted(seconds.keys() & newest.keys()):
        whose = cite_whole(page, newest[name])
        groups.setdefault((whose.date, whose.card, whose.revision[:8] or "not recorded"), []).append(name)
    if not groups:
        raise StoreError(f"{folder} has no file of a command in durations.csv")
    lines = [
        [*key, str(len(names)), f"{sum(seconds[name] for name in names) / 60:.0f}", ", ".join(names)]
        for key, names in sorted(groups.items(), reverse=True)
    ]
    return _format_markdown(["date", "card", "revision", "files", "minutes", "what was measured"], lines)


KINDS: Mapping[str, Callable[..., str]] = {
    "rows": _write_rows,
    "record": _write_record,
    "text": _write_text,
    "profile": _write_profile,
}
