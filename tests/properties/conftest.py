"""What must hold for any input, however odd: a command ends with a documented exit code and one clear line.

Hypothesis makes the cases: few, and the same each time, or at random as many as `GEMMBENCH_FUZZ_CASES` says.
`python benchmarks/properties.py` runs 100,000 of them in parallel and counts them.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from gemmbench.bench import estimate
from gemmbench.bench.estimate import TYPICAL_HOST
from gemmbench.cli import main
from gemmbench.errors import EXIT_CODES, OK, USAGE

CASES = os.environ.get("GEMMBENCH_FUZZ_CASES")
settings.register_profile(
    "gemmbench",
    max_examples=int(CASES or 120),
    derandomize=not CASES,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("gemmbench")

PATIENCE = 60  # seconds, far more than any case takes
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

# Values in YAML: traps, long numbers, expressions that have no value, texts that a terminal obeys.
ODD_VALUES = """
0 -1 1 2 3 16 -16 17 1000 010 0x10 1e3 1.5 .inf -.inf .nan 1_000 1:30 no yes ~ null true "" '' 'x' "\\x1b[31m" "\\0"
"\\ud800" "\\u202e" "\\n" [] [1] [[]] [1,1] [1.5] [x] ["",""] {} {a:\\ 1} {a} &a\\ [*a] *a !!binary\\ aGk= !!float\\ 3
!!python/object/apply:os.system\\ [x] 2026-11-22 all [all] {TILE:\\ all} M N K BM*0 BM-BM M*N*K M**N 2**64 cdiv(N,0)
cdiv(N,16) cdiv(N) "cdiv(N,\\ 16)" 1/0 N/7 N//0 M%0 min() max(1) min(1,2) f(x) x.y "x"*9 M[0] lambda:0 not\\ M M<N<K
"M\\ if\\ N\\ else\\ K" a BM TILE SMS SMEM L2 f32 f16 tf32 fp8 nn tt tx - -- | > ? : , # @ ` % & * {{ }} <<
4096x4096 4096 8x8x8 1:100:1 1:0:1 1:10:0 512:4096:512 784x100 0x0 cublas naive tiled nosuch naive+graph HEAD:naive
uniform cold 5% 200% -1% relu softmax 90a sm_90 random ../x /dev/zero naïve 漢字 \U0001f600
""".replace("\\ ", "\0").split()
LONG_VALUES = ["9" * 19, "9" * 5000, "0x" + "f" * 5000, "1" + "0" * 400, "1." + "3" * 400, "x" * 300, "(" * 50 + "1"]
LONG_VALUES += ["-" * 300 + "1", "M+" * 150 + "M", "[" * 30, "{a: " * 30, "9" * 17 + "*" + "9" * 17, f"[{'1,' * 999}1]"]
LONG_VALUES += [f"[{', '.join(map(str, range(1, count)))}]" for count in (50, 3000)]
VALUES = [value.replace("\0", " ") for value in [*ODD_VALUES, *LONG_VALUES]]


@pytest.fixture
def damage_text():
    """A function that changes a text: `damage(draw, text, keys)` puts odd values at some of its keys."""

    def change_line(draw, lines, at, keys):
        line = lines[at]
        begin = line[: len(line) - len(line.lstrip())]
        key = re.match(r"\s*(- )?(\w+: ?)?", line)[0]
        action = draw(st.sampled_from(["value"] * 5 + ["key", "remove", "repeat", "swap", "indent", "nest", "bytes"]))
        if action == "value":
            lines[at] = key + draw(st.sampled_from(VALUES))
        elif action == "key":
            lines.insert(at, f"{begin}{draw(st.sampled_from(keys))}: {draw(st.sampled_from(VALUES))}")
        elif action == "remove":
            del lines[at]
        elif action == "repeat":
            lines.insert(draw(st.integers(0, len(lines))), line)
        elif action == "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], line
        elif action == "indent":
            lines[at] = draw(st.sampled_from([" ", "  ", "- ", "\t", "#"])) + line
        elif action == "nest":
            lines[at] = f"{key}\n{begin}  - {draw(st.sampled_from(VALUES))}"
        else:
            cut = draw(st.integers(0, len(line)))
            lines[at] = line[:cut] + draw(st.text(max_size=4)) + line[cut + draw(st.integers(0, 8)) :]

    def damage(draw, text, keys):
        lines = text.splitlines()
        for _ in range(draw(st.sampled_from([1, 1, 1, 2, 2, 3, 5]))):
            change_line(draw, lines, draw(st.integers(0, len(lines) - 1)), keys)
            lines = lines or [""]
        return "\n".join([*lines, ""])

    return damage


@pytest.fixture
def run_command(tmp_path, monkeypatch):
    """Run a command in this process, in a folder of its own; check how it ends, and return its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(estimate, "probe_host", lambda: TYPICAL_HOST)
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}/nothing")  # no compiler or profiler is run
    signal.signal(signal.SIGALRM, time_is_up)

    def run(*words):
        out, err = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "argv", ["gemmbench", *words])
        signal.alarm(PATIENCE)
        try:
            with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
                main()
        finally:
            signal.alarm(0)
        code = end.value.code or OK
        check_end(code, out.getvalue(), err.getvalue())
        return code

    return run


def time_is_up(*_):
    raise AssertionError(f"it took longer than {PATIENCE} s")


def check_end(code, out, err):
    """A usage error says in one line what is wrong, nothing is meant for the terminal, and codes are known."""
    assert code in EXIT_CODES, err
    assert not CONTROL.search(err), ascii(err)
    assert not CONTROL.search(out), ascii(out)
    if code == USAGE:
        assert re.search("^(gemmbench|Error|left out): .", err, re.MULTILINE), err
