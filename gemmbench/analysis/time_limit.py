"""A compiler as a process with a time limit: it ends together with all processes it started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from gemmbench.errors import BuildTimeout


def run_limited(
    command: Sequence[str], limit: float, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `command` and return its output and exit code.

    Raises BuildTimeout after `limit` seconds, OSError if the command cannot start.
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, complaints = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # a compiler runs its passes as processes of their own
            raise BuildTimeout(f"did not compile within {limit:g} s, the limit for one compilation") from None
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(list(command), process.returncode, out, complaints)
