"""The bars of a terminal."""

import io
import re

from rich.console import Console

from gemmbench.bench.experiments.context import KNOWN, SWEEP
from gemmbench.interface.progress import draw_bars


def test_what_is_known_so_far_is_a_line_below_the_bars_and_takes_no_room_from_them():
    screen = io.StringIO()
    with draw_bars(Console(file=screen, force_terminal=True, width=80, legacy_windows=False)) as progress:
        progress(f"{SWEEP}4096 nn f32", 0, 3, 95.0)
        progress(f"sgemm 2.348 +- 0.003 ms, 1.14x cublas{KNOWN}round", 12, 96)
    text = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", text).splitlines()
    shown = [line.strip() for line in lines if line.strip()]
    assert any(re.fullmatch(r"4096 nn f32 .*0/3 +\d s, about 1 min 3\d s left", line) for line in shown)
    assert any(re.fullmatch(r"round .*12/96", line) for line in shown)
    assert "so far sgemm 2.348 +- 0.003 ms, 1.14x cublas" in shown
