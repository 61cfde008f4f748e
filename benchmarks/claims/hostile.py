"""Kernels that do what they should not: each ends in its right row, and costs no other row."""

import tempfile
from pathlib import Path

import yaml

from claims import Claim, sweep, table

HOSTILE = Path(__file__).parents[2] / "tests" / "hostile"
HEALTHY = ("naive", "coalesced", "tiled", "blocktile_2d", "cublas")
LIMITS = ("--launch-limit", "5", "--compile-limit", "15", "--max-time", "0.2")


def check(folder: Path) -> Claim:
    """Run them all in one sweep beside healthy kernels."""
    expected = yaml.safe_load((HOSTILE / "expected.yaml").read_text())
    with tempfile.TemporaryDirectory() as results:
        names = (*HEALTHY[:2], *expected, *HEALTHY[2:])
        problem = ("--sizes", "35x129x133", "--alpha", "1.5", "--beta", "-0.5")
        rows = sweep(Path(results), *names, "--kernels", str(HOSTILE), *problem, *LIMITS)
    found = [_judge(name, wanted, [row for row in rows if row["variant"] == name]) for name, wanted in expected.items()]
    lost = [row for row in rows if row["variant"] in HEALTHY and row["status"] != "ok"]
    right, healthy = sum(ok == "yes" for *_, ok in found), sum(row["variant"] in HEALTHY for row in rows)
    return Claim(
        "every hostile kernel ends in its right row, and no healthy row beside it is lost",
        table(found, ["kernel", "status", "reason (first)", "right"]),
        f"{right} of {len(found)} right, {len(lost)} of {healthy} healthy rows lost",
        right == len(found) and not lost,
    )


def _judge(name: str, wanted: dict[str, object], rows: list[dict[str, object]]) -> tuple[str, str, str, str]:
    fitting = [row for row in rows if row["status"] == wanted["status"] and str(wanted["words"]) in str(row["reason"])]
    shown = (fitting or [row for row in rows if row["status"] != "ok"] or rows)[0]
    return name, str(shown["status"]), str(shown["reason"]).splitlines()[0][:110], "yes" if fitting else "NO"
