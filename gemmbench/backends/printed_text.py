"""Reads the output of a kernel or a worker process from a pipe, counts its lines, and shortens and escapes it."""

from __future__ import annotations

import ctypes
import os
import re
import secrets
import select
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from gemmbench.planning.files import escape_cell

_KEPT = 2048
"""Bytes of text to keep. Lines beyond this limit are only counted."""
_SHOWN = 200
_KEPT_END = 1024
_MOST_AT_ONCE = 1 << 20
"""Bytes to read in one call. This is the capacity of a pipe, so endless output does not hold up the row."""
_GLANCE = 0.2
"""Seconds between checks of whether the text is still wanted."""


@dataclass
class PrintedLines:
    """The first and last bytes of a text, and how many complete lines it has."""

    start: bytes = b""
    end: bytes = b"\n"
    ends: int = 0

    def add(self, more: bytes) -> None:
        """Add text."""
        self.start += more[: _KEPT - len(self.start)]
        self.ends, self.end = self.ends + more.count(b"\n"), (self.end + more)[-_KEPT_END:]

    def summarize(self) -> str:
        """Return `printed 12 lines, the first: ...`, or "" if nothing was printed."""
        count = self.ends + (not self.end.endswith(b"\n"))
        if not count:
            return ""
        first = _show_line(self.start.strip().partition(b"\n")[0])
        return f"printed {count} line{'s' * (count > 1)}{', the first' * (count > 1)}: {first}"

    def last_line(self) -> str:
        """Return the last line, which in a traceback is the error message; "" if nothing was printed."""
        return _show_line(self.end.strip().rpartition(b"\n")[2])


def _show_line(line: bytes) -> str:
    return escape_cell(line.decode(errors="replace"))[:_SHOWN]


class OutputPipe:
    """A pipe for the output of a process. `sink` is its write end, to be closed once the process has it."""

    def __init__(self, add: Callable[[bytes], None]) -> None:
        self._add = add
        self._source, self.sink = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(self.sink, True)

    def fileno(self) -> int:
        """Return the file descriptor to wait on."""
        return self._source

    def read(self) -> bool:
        """Read what has been printed so far, without waiting.

        Returns False if no process can write to the pipe any more.
        """
        taken = 0
        while taken < _MOST_AT_ONCE:
            try:
                more = os.read(self._source, 1 << 16)
            except BlockingIOError:
                return True
            if not more:
                return False
            self._add(more)
            taken += len(more)
        return True

    def close(self) -> None:
        """Close the pipe. Any process left behind that still prints gets an error."""
        os.close(self._source)


class RowMarks:
    """Writes marks to standard output that tell which row the following output belongs to.

    Marks begin with a random number, which is written before any row's code runs. No kernel's output can therefore be
    mistaken for a mark.
    """

    def __init__(self) -> None:
        _unbuffer_c_output()
        self._token, self._row = secrets.token_hex(16), -1
        self._write(f"\0{self._token}\n")

    def mark(self, row: int) -> None:
        """Assign everything printed until the next mark to `row`."""
        if row != self._row:
            self._row = row
            self._write(f"\0{self._token} {row}\n")

    def _write(self, mark: str) -> None:
        with suppress(OSError):  # if it was closed, the output is not shown
            os.write(_STDOUT, mark.encode())


def _unbuffer_c_output() -> None:
    """Turn off buffering in C code, such as a kernel's printf, so that no output is lost in a crash."""
    library = ctypes.CDLL(None)
    library.setvbuf(ctypes.c_void_p.in_dll(library, "stdout"), None, _IONBF, ctypes.c_size_t(0))


_IONBF = 2
_STDOUT = 1
_TOKEN = re.compile(rb"\x00([0-9a-f]{32})\n")
_LONGEST_MARK = 64


class MarkedLines:
    """Splits output with marks into the lines of each row. Lines before the first mark belong to row -1."""

    def __init__(self) -> None:
        self.rows: dict[int, PrintedLines] = defaultdict(PrintedLines)
        self._mark, self._row, self._rest = _TOKEN, -1, b""

    def add(self, more: bytes) -> None:
        """Add output."""
        text, self._rest, start = self._rest + more, b"", 0
        for found in self._find_marks(text):
            self._add_text(text[start : found.start()])
            start = found.end()
            if found.re is not _TOKEN:
                self._row = int(found[1])
        last = text.rfind(b"\0", max(start, len(text) - _LONGEST_MARK))
        end = last if last >= 0 and b"\n" not in text[last:] else len(text)
        self._rest = text[end:]
        self._add_text(text[start:end])

    def take(self) -> dict[int, PrintedLines]:
        """Return the lines that have arrived since the last call."""
        rest, self._rest = self._rest, b""
        self._add_text(rest)
        taken, self.rows = self.rows, defaultdict(PrintedLines)
        return taken

    def _find_marks(self, text: bytes) -> Iterator[re.Match[bytes]]:
        at = 0
        while found := self._mark.search(text, at):
            if found.re is _TOKEN:
                self._mark = re.compile(rb"\x00%s (\d{1,9})\n" % found[1])
            at = found.end()
            yield found

    def _add_text(self, text: bytes) -> None:
        if text:
            self.rows[self._row].add(text)


class OutputThread:
    """Reads the output of a process in a thread, so the process never has to wait for a reader.

    It does not wait for other processes that have the pipe open, such as one that was left behind.
    """

    def __init__(self) -> None:
        self._lines, self._lock, self._open = MarkedLines(), threading.Lock(), True
        self._pipe = OutputPipe(self._lines.add)
        self.sink = self._pipe.sink
        self._thread = threading.Thread(target=self._read, daemon=True)

    def start(self) -> None:
        """Start reading. The process must already have the sink."""
        os.close(self.sink)
        self._thread.start()

    def take(self) -> dict[int, PrintedLines]:
        """Return what each row has printed since the last call. Output that belongs to no row is under -1."""
        with self._lock:
            if self._open:
                self._pipe.read()
            return self._lines.take()

    def stop(self) -> None:
        """Read the remaining output and close the pipe."""
        with self._lock:
            if self._open:
                self._pipe.read()
                self._close()

    def _read(self) -> None:
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        while self._open:
            ready = poll.poll(1000 * _GLANCE)
            with self._lock:
                if ready and self._open and not self._pipe.read():
                    self._close()

    def _close(self) -> None:
        self._open = False
        self._pipe.close()
