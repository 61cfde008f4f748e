"""Kernels with faults: each must end in the expected row and not cost any other row.

These are the kernels of tests/hostile that a GPU runs. Host functions that attack their process (tests/hostile/host)
run only on the CPU device, in the tests of gemmbench.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from claims import Claim, format_table, run_sweep

HOSTILE = Path(__file__).parents[2] / "tests" / "hostile"
HEALTHY = ("naive_rows", "naive", "tiled", "blocktile_2d", "cublas")
SCALARS = ("--alpha", "1.5", "--beta", "-0.5")
LIMITS = ("--launch-limit", "5", "--compile-limit", "15", "--max-time", "0.2")


def check(folder: Path) -> Claim:
    """Run them together with healthy kernels: a sweep that verification ends, and one for the audit."""
    expected = yaml.safe_load((HOSTILE / "expected.yaml").read_text())
    with tempfile.TemporaryDirectory() as results:
        timed = [name for name, fate in expected.items() if "beta" in fate]
        rows = _run_among_healthy([name for name in expected if name not in timed], results, *SCALARS)
        rows += _run_among_healthy(timed, results, "--rounds", "10")
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


def _run_among_healthy(names: Sequence[str], results: str, *options: str) -> list[dict[str, object]]:
    mixed = (*HEALTHY[:2], *names, *HEALTHY[2:])
    return run_sweep(Path(results), *mixed, "--kernels", str(HOSTILE), "--sizes", "35x129x133", *options, *LIMITS)


def _judge_rows(name: str, fate: dict[str, object], rows: list[dict[str, object]]) -> tuple[str, str, str, str]:
    fitting = [row for row in rows if row["status"] == fate["status"] and str(fate["words"]) in str(row["reason"])]
    shown = (fitting or [row for row in rows if row["status"] != "ok"] or rows)[0]
    return name, str(shown["status"]), str(shown["reason"]).partition("\n")[0][:110], "yes" if fitting else "NO"
