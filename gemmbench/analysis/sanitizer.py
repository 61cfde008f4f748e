"""Runs this program under compute-sanitizer and reads the verdict.

The output is described in NVIDIA, "Compute Sanitizer User Manual", in the chapters on its four tools.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gemmbench.analysis import toolkit
from gemmbench.errors import DeviceError

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
PROGRAM = "compute-sanitizer"

# Unused bytes after each allocation, so that a tile too far does not land in the next one.
_PADDING = 64 << 10
_VARIABLES = {"GEMMBENCH_GUARDS": "0", "GEMMBENCH_GATE": "0"}
_LINE = re.compile(r"^=========(?: (.*))?$", re.MULTILINE)
_SUMMARY = re.compile(r"^(?:\w+ )?SUMMARY: ([\d,]+) (?:error|hazard)s?\b(?! were not)")
_REFUSED = re.compile(
    r"device (?:is )?not supported|operation not permitted|insufficient permission|failed to initialize|"
    r"unable to (?:initialize|attach)|internal sanitizer error",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ToolVerdict:
    """The verdict of a tool on a run.

    `status` is "clean", "errors" (which includes hazards), "timeout" or "failed". "failed" means that the tool did not
    finish, or that it saw no error but the program failed. `message` is the first error or the reason.
    """

    status: str
    errors: int = 0
    message: str = ""


def run_sanitizer(tool: str, arguments: Sequence[str], limit: float) -> ToolVerdict:
    """Run `gemmbench ARGUMENTS` under a tool, with each operand in an allocation of exactly its size.

    Raises DeviceError if compute-sanitizer is missing or may not watch this GPU.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        ran = toolkit.run_watcher(_command(tool, log, toolkit.gemmbench_command(*arguments)), limit, _VARIABLES)
        report = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if ran.code is None:
        return ToolVerdict("timeout", message=f"did not finish within {limit:g} s")
    return read_log(report, ran)


def _command(tool: str, log: Path, target: Sequence[str]) -> list[str]:
    # cuda-bindings looks up every function of the driver before it makes a tensor map; missing ones are not an error.
    options = ["--padding", str(_PADDING), "--report-api-errors", "no"] if tool == "memcheck" else []
    # Only the program itself, not a compiler that it starts.
    watched = ["--target-processes", "application-only", "--log-file", str(log)]
    return [toolkit.find_watcher(PROGRAM), "--tool", tool, *options, *watched, *target]


def read_log(report: str, ran: toolkit.ToolRun) -> ToolVerdict:
    """Read the verdict from a tool's log. Raises DeviceError if the tool may not watch this GPU."""
    lines = [line.strip() for line in _LINE.findall(report)]
    counts = [int(found[1].replace(",", "")) for line in lines if (found := _SUMMARY.match(line))]
    if refused := next(filter(_is_refusal, lines), ""):
        raise DeviceError(
            f"{PROGRAM} cannot watch this GPU: {refused}; it may need a newer toolkit or more permissions"
        )
    if not counts:
        return ToolVerdict("failed", message=next(filter(_is_fault, lines), "") or ran.last_words)
    if sum(counts):
        return ToolVerdict("errors", sum(counts), _first_error(lines))
    if ran.code:
        return ToolVerdict("failed", message=_own_complaint(ran))
    return ToolVerdict("clean")


def _is_refusal(line: str) -> bool:
    # "Program hit" starts a line about what a driver call of the program returned.
    return not line.startswith("Program hit") and bool(_REFUSED.search(line))


def _is_fault(line: str) -> bool:
    return line.startswith(("Error", "Fatal"))


def _first_error(lines: Sequence[str]) -> str:
    """Return the first error in a log as one sentence: what happened, in which file and line, and in which thread."""
    parts: list[str] = []
    for line in lines:
        ends = not line or line.startswith(("Saved host backtrace", "Host Frame", "Device Frame")) or "SUMMARY" in line
        if parts and ends:
            break
        if not ends and line != "COMPUTE-SANITIZER":
            parts.append(line)
    return " ".join(parts)


def _own_complaint(ran: toolkit.ToolRun) -> str:
    """Return the row that gemmbench itself reports as wrong, or else its last line of output."""
    wrong = re.search(r"^.*?: (?:wrong|failed|timeout|out of memory)\b.*$", ran.out, re.MULTILINE)
    return wrong[0].strip() if wrong else ran.last_words
