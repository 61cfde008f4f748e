"""What processes print: read while they run, counted, cut and escaped, however much and however long."""

import os
import subprocess
import sys
import time

import pytest

from gemmbench.backends.printed_text import OutputThread, PrintedLines


def run(code, lines, wait=True):
    """Run Python code whose output is added to lines; returns its exit code."""
    output = OutputThread()
    process = subprocess.Popen([sys.executable, "-u", "-c", code], stdout=output.sink, stderr=output.sink)
    output.start()
    code = process.wait(30)
    output.stop()
    vars(lines).update(vars(output.take()[-1]))
    return code


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (b"", ""),
        (b"one", "printed 1 line: one"),
        (b"\n\none\ntwo\n", "printed 4 lines, the first: one"),
        (b"::error::x\x1b]0;t\x07\n", r"printed 1 line: ::error::x\x1b]0;t\x07"),
        (b"\xff\xe2\x80\xae|<b>\n", "printed 1 line: \ufffd\\u202e|<b>"),
        (b"x" * 5000, "printed 1 line: " + "x" * 200),
    ],
)
def test_a_summary_is_one_escaped_line_of_a_known_length(text, summary):
    lines = PrintedLines()
    for start in range(0, len(text), 7):
        lines.add(text[start : start + 7])
    assert lines.summarize() == summary


def test_a_process_that_prints_more_than_a_pipe_holds_is_neither_held_up_nor_cut_short():
    lines = PrintedLines()
    assert run("import os\nfor _ in range(20000): os.write(1, b'x' * 99 + b'\\n')", lines) == 0
    assert lines.summarize().startswith("printed 20000 lines, the first: xxx") and len(lines.start) == 2048


def test_what_was_printed_before_a_crash_is_kept():
    lines = PrintedLines()
    assert run("import os; print('before'); os.kill(os.getpid(), 9)", lines) == -9
    assert (lines.summarize(), lines.last_line()) == ("printed 1 line: before", "before")


def test_a_process_that_was_left_behind_with_the_pipe_is_not_waited_for():
    lines = PrintedLines()
    begin = time.monotonic()
    left = "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).pid)"
    assert run(left, lines) == 0 and time.monotonic() - begin < 20
    os.kill(int(lines.last_line()), 9)


def test_output_is_that_of_the_row_that_was_marked_wherever_reads_end():
    output = OutputThread()
    copy = os.dup(output.sink)
    output.start()
    token = b"0123456789abcdef" * 2
    text = b"boot\n\0" + token + b"\n\0" + token + b" 3\none\n\0" + b"f" * 32 + b" 4\n\0" + token + b" 0\ntwo\n\0end"
    for byte in range(0, len(text), 5):
        os.write(copy, text[byte : byte + 5])
        time.sleep(0.001)
    rows = {row: lines.summarize() for row, lines in output.take().items()}
    assert rows[-1] == "printed 1 line: boot" and rows[3] == "printed 2 lines, the first: one"
    assert rows[0] == "printed 2 lines, the first: two" and set(rows) == {-1, 0, 3}
    output.stop()
    output.stop()
    with pytest.raises(BrokenPipeError):
        for _ in range(100):  # until the thread has looked up
            os.write(copy, b"three\n")
            time.sleep(0.1)
    os.close(copy)
