"""The file of an executable, read without running it: its static constructors would run too."""

from __future__ import annotations

import struct
from pathlib import Path

from gemmbench.errors import BuildError

_SHARED = b"gb_shared"
"""The section of static shared memory, named by shared.ld; an empty one is left out of the file."""

_ELF64 = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<40xQ10xHHH")
"""Of the file: offset of the section headers; size and number of them, and which one names them."""
_SECTION = struct.Struct("<I20xQQ24x")
"""Of a section: offset of its name among the names, offset in the file, size."""


def read_static_shared(path: Path) -> int:
    """Bytes of static shared memory of a block. Raises BuildError for a file of another format."""
    code = path.read_bytes()
    if not code.startswith(_ELF64):
        raise BuildError("the C++ compiler did not make a 64-bit little-endian ELF executable")
    table, step, count, naming = _HEADER.unpack_from(code)
    sections = [_SECTION.unpack_from(code, table + number * step) for number in range(count)]
    names = sections[naming][1]
    return next((size for name, _, size in sections if code.startswith(_SHARED + b"\0", names + name)), 0)
