"""Starts an executable, sends it commands and explains why it ended. Provides operand memory that it can map."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import socket
import subprocess
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gemmbench.backends.base import pack_allocations
from gemmbench.backends.cpu import walls
from gemmbench.backends.cpu.entry import free_memory
from gemmbench.backends.jobs import HostBytes
from gemmbench.backends.printed_text import OutputPipe, PrintedLines
from gemmbench.errors import (
    BuildError,
    DeviceError,
    KernelCrash,
    LaunchError,
    LaunchTimeout,
    OutOfMemory,
    name_signal,
)


class CpuMemory(HostBytes):
    """A Memory in a file that other processes can map through its descriptor, `file`. Raises OutOfMemory."""

    def __init__(self, *sizes: int):
        self.starts, end = pack_allocations(sizes)
        nbytes = sizes[0] if len(sizes) == 1 else end
        if nbytes > free_memory():
            raise OutOfMemory(f"cannot allocate {nbytes >> 20} MiB: only {free_memory() >> 20} MiB are free")
        self.nbytes = nbytes
        try:
            self.file, self.bytes = walls.map_shared_file(nbytes)
        except OSError as fault:
            raise OutOfMemory(f"cannot allocate {nbytes >> 20} MiB: {fault.strerror}") from None

    def free(self) -> None:
        """Close the file.

        The bytes are freed when no array and no process maps the file any more.
        """
        if self.nbytes:
            os.close(self.file)
            self.nbytes, self.bytes = 0, np.zeros(0, np.uint8)


_LEAVE = 1.0
"""Seconds that an executable gets to end its workers and itself after its connection is closed."""
_GLANCE = 0.5
"""Seconds between checks of whether the executable has ended.

A process that it left behind may keep the connection open.
"""
_PAUSE = 0.0005
_OF_PROCESS = 2
"""The clock that counts the processor time of a process; see clock_getcpuclockid(3)."""
_MARGINS = 128 << 20
"""Bytes of address space around each file that the runtime maps."""
_MOST_PROCESSES = 1024
_MOST_WORK, _MOST_SHARE = 5e-3 + 1e-3 * (os.cpu_count() or 1), 0.2
"""Limits on the processor seconds that a kernel's processes may use in a pause between windows: an absolute number and
a fraction of the pause. The larger one applies. Each worker spins for about 0.1 ms before it sleeps."""

_HINTS = {
    "SIGSEGV": "an access outside its operands, shared memory or stack, a misaligned vector, or memory beyond the "
    f"{walls.KERNEL_MEMORY >> 20} MiB that a kernel may use in addition to its operands",
    "SIGFPE": "an integer division by zero",
    "SIGILL": "__trap, or an instruction that this processor does not have",
    "SIGABRT": f"a failed assertion, or memory beyond the {walls.KERNEL_MEMORY >> 20} MiB that a kernel may use",
    "SIGBUS": "an access beyond the end of a file that it mapped",
    "SIGKILL": "killed by the system, usually because memory ran out, or by a program that it started or signalled",
}
_OTHER = "a signal that it sent or requested itself, or that came from a program that it started"
_MUCH = walls.KERNEL_MEMORY // 2
_NULL = "an access through a null pointer"
_REFUSALS = ("SIGABRT", "SIGILL", "SIGKILL")
"""Signals that end a kernel if it refuses to compute or if the system kills it."""


class KernelProcess:
    """A running executable that has mapped its operands. It ends when this object is deleted.

    Its processes also end with the thread that started them. They run in a separate session, so Ctrl-C does not reach
    them and the whole session can be killed. `binding` holds the numbers of the first command. `files` holds the
    descriptors of the operands and the workspace. `timeout` is the time limit for one window in seconds. `waited` is
    how long gemmbench waited for the last window. `absent` is the largest number of threads of a block that had already
    returned when others left a barrier, over all launches so far. The output of the executable is added to `printed`.
    Raises LaunchError, LaunchTimeout.
    """

    waited, absent = 0.0, 0
    longest_reply = 1024

    def __init__(
        self,
        path: Path,
        binding: str,
        files: Sequence[int],
        timeout: float,
        printed: PrintedLines | None = None,
    ):
        self._timeout, self._started = timeout, False
        self._ended = self._used = 0.0
        self._connection, theirs = socket.socketpair()
        self._connection.settimeout(timeout)
        self._lines = printed or PrintedLines()
        self.printed = OutputPipe(self._lines.add)
        with theirs, contextlib.ExitStack() as undo:
            undo.callback(self._connection.close)
            undo.callback(self.printed.close)
            try:
                self._child = _start_process(path, (theirs.fileno(), *files), self.printed.sink)
            finally:
                os.close(self.printed.sink)
            undo.pop_all()
        self.end = weakref.finalize(self, _end_process, self._child, self._connection, self.printed)
        self._ask("bind", binding)
        self._started = True

    def time(self, first: int, launches: int) -> float:
        """Return the seconds that `launches` launches take back to back.

        They rotate through the operand sets from `first` on.

        Raises LaunchError or LaunchTimeout. Both end the process.
        """
        self._check_idle()
        begin = time.perf_counter()
        reply = self._ask("time", f"{first} {launches}")
        self.waited = time.perf_counter() - begin
        self._ended, self._used = time.perf_counter(), _count_processor_seconds(self._child.pid)
        try:
            seconds, absent = reply.split()
            self.absent = int(absent)
            return float(seconds)
        except ValueError:
            raise self._refuse_forged(reply) from None

    def _check_idle(self) -> None:
        """Raise LaunchError if its processes have worked since the last window, which disturbs other rows."""
        if not self._ended or not self.end.alive:
            return
        pause = time.perf_counter() - self._ended
        work = _count_processor_seconds(self._child.pid) - self._used
        if work > max(_MOST_WORK, _MOST_SHARE * pause):
            self.end()
            raise LaunchError(f"the kernel worked for {1e3 * work:.0f} ms outside the timed windows; end its threads")

    def take_printed(self) -> None:
        """Read what the executable has printed so far."""
        if self.end.alive:
            self.printed.read()

    def _ask(self, command: str, numbers: str) -> str:
        """Send a command and return the text of the reply, which must repeat the command's nonce.

        A kernel that merely writes to all its descriptors does not know the nonce. A malicious kernel could find it.
        """
        if not self.end.alive:
            raise LaunchError("the kernel's process ended after an earlier error")
        nonce = secrets.token_hex(16)
        try:
            self._connection.sendall(f"{command} {nonce} {numbers}\n".encode())
        except TimeoutError:
            raise self._give_up() from None
        except (BrokenPipeError, ConnectionResetError):
            raise self._explain_death() from None
        reply = self._receive_line()
        said, word, text = [*reply.split(" ", 2), "", ""][:3]
        if said != nonce or "\n" in text:
            raise self._refuse_forged(reply)
        if word == "crash":
            raise self._explain_death(text)
        if word == "fault":
            self.end()
            raise LaunchError(text)
        return text

    def _refuse_forged(self, reply: str) -> LaunchError:
        self.end()
        return LaunchError(f"the kernel forged a reply of its runtime, so its times do not count: {reply[:80]!r}")

    def _receive_line(self) -> str:
        """Return the next line, or the start of whatever was received instead."""
        reply, deadline = b"", time.monotonic() + self._timeout
        while b"\n" not in reply and len(reply) < self.longest_reply:
            if not self._wait_for_reply(min(_GLANCE, deadline - time.monotonic())):
                self._check_alive(deadline)
                continue
            more = self._receive()
            if not more:
                raise self._explain_death()
            reply += more
        return reply.decode(errors="replace").removesuffix("\n")

    def _wait_for_reply(self, seconds: float) -> bool:
        """Wait for part of a reply while reading the kernel's output. Returns False if no reply came."""
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        poll.register(self.printed, select.POLLIN)
        ready = dict(poll.poll(max(0.0, seconds) * 1000))
        if ready.get(self.printed.fileno(), 0) & select.POLLIN:
            self.printed.read()
        elif ready and self._connection.fileno() not in ready:  # every process that could print has closed the pipe
            return _wait_for_input(self._connection, seconds)
        return self._connection.fileno() in ready

    def _receive(self) -> bytes:
        try:
            return self._connection.recv(self.longest_reply)
        except ConnectionResetError:  # it ended before it read its command
            return b""

    def _check_alive(self, deadline: float) -> None:
        """Raise LaunchError if the process has ended silently, or LaunchTimeout after the deadline."""
        if time.monotonic() < deadline and not _has_ended(self._child.pid):
            return
        if _has_ended(self._child.pid) and not _wait_for_input(self._connection, 0.0):
            raise self._explain_death()
        if time.monotonic() >= deadline:
            raise self._give_up()

    def _give_up(self) -> LaunchTimeout:
        taken = max(map(_count_own_memory, _list_tree(self._child.pid)))
        limit = f"{walls.KERNEL_MEMORY >> 20} MiB that a kernel may use"
        hint = f", with {taken >> 20} MiB of memory of the {limit}" if taken > _MUCH else ""
        _kill_children(self._child.pid)
        self._child.kill()  # its workers die with it
        self.end()
        return LaunchTimeout(
            f"did not {'finish' if self._started else 'start'} within {round(self._timeout, 2):g} s{hint}"
        )

    def _explain_death(self, access: str = "") -> LaunchError:
        """Return the error that ended the process. `access` is a faulty access that the process itself reported."""
        ended = _wait_for_end(self._child.pid)
        self.end()
        if not ended:
            return LaunchError("the kernel closed the connection of its runtime")
        code = self._child.returncode
        when = "" if self._started else " before its first launch, in a static constructor?"
        if code in (walls.NO_WALLS, walls.NO_PROGRAM) and not self._started:
            return LaunchError(f"the kernel's process did not start: {self._lines.last_line()}")
        if code >= 0 and not access:
            return LaunchError(f"the kernel's process exited with code {code}{when}")
        name = name_signal(-code) if code < 0 else "SIGSEGV"  # its own report counts, no matter how it ended
        kind = LaunchError if name in _REFUSALS else KernelCrash
        if access == _NULL:
            access += f" (malloc returns one beyond the {walls.KERNEL_MEMORY >> 20} MiB that a kernel may use)"
        return kind(f"the kernel crashed with {name}: {access or _HINTS.get(name, _OTHER)}{when}")


def _start_process(path: Path, descriptors: Sequence[int], output: int) -> subprocess.Popen[bytes]:
    """Start an executable behind walls. The first of `descriptors` is its connection. Raises LaunchError.

    Output goes to the descriptor `output`.
    """
    shared = sum(os.fstat(file).st_size + _MARGINS for file in descriptors[1:])
    limits = walls.Limits(shared + walls.KERNEL_MEMORY, 0, _MOST_PROCESSES)
    try:
        command = walls.wrap_command([path, str(descriptors[0])], [path], limits=limits)
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=walls.ENVIRONMENT,
            pass_fds=tuple(descriptors),
            start_new_session=True,
        )
    except (OSError, subprocess.SubprocessError, BuildError, DeviceError) as fault:
        hint = "; is GEMMBENCH_CACHE_DIR mounted noexec?" if isinstance(fault, PermissionError) else ""
        raise LaunchError(f"cannot start {path}: {getattr(fault, 'strerror', fault)}{hint}") from None


def _wait_for_input(connection: socket.socket, seconds: float) -> bool:
    """Wait for input, or for the other side to close. Returns False if neither happens in time."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))


def _has_ended(process: int) -> bool:
    """Return whether a child has ended. The child is not reaped, so its process number is not reused."""
    try:
        return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # the system has reaped it, because SIGCHLD is ignored
        return True


def _wait_for_end(process: int) -> bool:
    """Wait until a child has ended. Returns False if that takes too long."""
    deadline = time.monotonic() + _LEAVE
    while not _has_ended(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE)
    return True


def _end_process(child: subprocess.Popen[bytes], connection: socket.socket, printed: OutputPipe) -> None:
    """End a process and everything that it started, and reap it."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)  # the runtime exits at the end of its input
    _wait_for_end(child.pid)
    connection.close()
    _kill_children(child.pid)
    _kill_session(child.pid)
    child.wait()
    printed.read()
    printed.close()


def _kill_children(parent: int) -> None:
    """Kill the children of a process. When the first process of a namespace ends, all others in it end too."""
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split():
            os.kill(int(child), signal.SIGKILL)


def _list_children(parent: int) -> list[int]:
    """Return the children of all threads of a process."""
    with contextlib.suppress(OSError):
        threads = list(Path(f"/proc/{parent}/task").iterdir())
        return [int(word) for each in threads for word in (each / "children").read_text(encoding="ascii").split()]
    return []


def _list_tree(process: int) -> Iterator[int]:
    """Yield a process and all its descendants."""
    waiting = [process]
    while waiting:
        one = waiting.pop()
        waiting += _list_children(one)
        yield one


def _count_processor_seconds(process: int) -> float:
    """Return the processor seconds that a process and its descendants have used."""
    seconds = 0.0
    for one in _list_tree(process):
        with contextlib.suppress(OSError):
            seconds += time.clock_gettime(~one << 3 | _OF_PROCESS)
    return seconds


def _count_own_memory(process: int) -> int:
    """Return the bytes of private memory that a process has written to, or 0 if it has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    return 0


def _kill_session(leader: int) -> None:
    """Kill every process of a session, including those that have left the process group of its leader."""
    killed: set[int] = set()
    while members := _list_session(leader) - killed:
        for member in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        killed |= members


def _list_session(leader: int) -> set[int]:
    found = set()
    for process in (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(process) == leader:
                found.add(process)
    return found
