"""Text files that others wrote: kernels and configs. A device, a FIFO or a huge file is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gemmbench.errors import SpecError
from gemmbench.planning.paths import display_path

LONGEST = 1 << 20
"""Characters that a text file may have."""

_OTHERS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


def read_text_file(path: Path) -> str:
    """Return the text of a file, which may be the target of a link. Raises SpecError, never waits."""
    location = display_path(path)
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
        if kind != stat.S_IFREG:
            raise SpecError(location, None, f"is {_OTHERS.get(kind, 'something else')}, not a file; remove it")
        # Some files of /proc wait for news unless they are opened like this.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as file:
            text = file.read(LONGEST + 1)
    except OSError as fault:
        raise SpecError(location, None, f"cannot be read: {fault.strerror}") from None
    except UnicodeDecodeError as fault:
        raise SpecError(location, None, f"is not UTF-8 text (byte {fault.start}); convert or remove it") from None
    if len(text) > LONGEST:
        raise SpecError(location, None, f"has more than {LONGEST:,} characters; shorten or remove it")
    return text
