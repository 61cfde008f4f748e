"""Compresses results files, and reads compressed ones, which may be damaged or meant to exhaust memory."""

from __future__ import annotations

import io
import os
import shutil
import zlib
from gzip import GzipFile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gemmbench.errors import StoreError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_MOST_EXPANSION = 100
"""A large file may unpack to this many times its size. Results unpack to 4 to 20 times theirs."""
_SMALL = 1 << 24
"""Any file may unpack to this many bytes."""


def compress_results(path: Path) -> Path:
    """Compress a finished results file and return the file that replaces it. The same content gives the same bytes."""
    compressed = path.with_name(f"{path.name}.gz")
    draft = path.with_name(f".{compressed.name}.{os.getpid()}")
    with (
        path.open("rb") as source,
        draft.open("wb") as target,
        GzipFile(filename="", mode="wb", fileobj=target, mtime=0) as stream,
    ):
        shutil.copyfileobj(source, stream)
    draft.replace(compressed)
    path.unlink()
    return compressed


class _Decompression(io.RawIOBase):
    """The content of a compressed file. Reading raises StoreError for a damaged file or a decompression bomb."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        super().__init__()
        self._content, self._path = GzipFile(fileobj=file, mode="rb"), path
        self._left = max(_SMALL, _MOST_EXPANSION * os.fstat(file.fileno()).st_size)

    def readable(self) -> bool:
        """See RawIOBase."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """See RawIOBase."""
        try:
            count = self._content.readinto(buffer)
        except (EOFError, OSError, zlib.error) as fault:
            raise StoreError(f"{self._path}: cannot be decompressed: {fault}; copy or compress it again") from None
        self._left -= count
        if self._left < 0:
            raise StoreError(
                f"{self._path}: expands to more than {_MOST_EXPANSION} times its size, which no results file "
                "does; choose another file"
            )
        return count


def decompress(file: BinaryIO, path: Path) -> BinaryIO:
    """Return the content of an open compressed file. Messages call it `path`."""
    return io.BufferedReader(_Decompression(file, path), io.DEFAULT_BUFFER_SIZE * 8)
