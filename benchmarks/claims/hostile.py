"""Kernels with faults: each must end in the expected row and cost no other row."""

import tempfile
from pathlib import Path

import yaml

from claims import Claim, format_table, run_sweep

HOSTILE = Path(__file__).parents[2] / "tests" / "hostile"
HEALTHY = ("naive", "coalesced", "tiled", "blocktile_2d", "cublas")
LIMITS = ("--launch-limit", "5", "--compile-limit", "15", "--max-time", "0.2")


def check(folder: Path) -> Claim:
    """Run all of them in one sweep together with healthy kernels."""
    expected = yaml.safe_load((HOSTILE / "expected.yaml").read_text())
    with tempfile.TemporaryDirectory() as results:
        names = (*HEALTHY[:2], *expected, *HEALTHY[2:])
        problem = ("--sizes", "35x129x133", "--alpha", "1.5", "--beta", "-0.5")
        rows = run_sweep(Path(results), *names, "--kernels", str(HOSTILE), *problem, *LIMITS)
    judged = [
        _judge_rows(name, fate, [row for row in rows if row["variant"] == name]) for name, fate in expected.items()
    ]
    lost = [row for row in rows if row["variant"] in HEALTHY and row["status"] != "ok"]
    right, healthy = sum(verdict == "yes" for *_, verdict in judged), sum(row["variant"] in HEALTHY for row in rows)
    return Claim(
        "every hostile kernel ends in the expected row, and no healthy row is lost",
        format_table(judged, ["kernel", "status", "reason (first)", "as expected"]),
        f"{right} of {len(judged)} as expected, {len(lost)} of {healthy} healthy rows lost",
        right == len(judged) and not lost,
    )


def _judge_rows(name: str, fate: dict[str, object], rows: list[dict[str, object]]) -> tuple[str, str, str, str]:
    fitting = [row for row in rows if row["status"] == fate["status"] and str(fate["words"]) in str(row["reason"])]
    shown = (fitting or [row for row in rows if row["status"] != "ok"] or rows)[0]
    return name, str(shown["status"]), str(shown["reason"]).splitlines()[0][:110], "yes" if fitting else "NO"
