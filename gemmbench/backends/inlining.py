"""Local headers written into the text that includes them, so that the text stands alone.

Headers of the toolkit and of packages stay as they are. `#line` keeps the places of all lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gemmbench.errors import BuildError
from gemmbench.planning.files import display_path, follow_links, is_file, read_text_file
from gemmbench.planning.manifests.variant import Variant

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)')
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b.*$", re.MULTILINE)
_MOST_LINES = 200_000


def inline_headers(variant: Variant, text: str, path: str) -> str:
    """`text`, which is at `path` as messages name it, with the local headers of a variant in it.

    Raises BuildError for headers that include each other without end, SpecError for one that cannot be read.
    """
    folders = [Path(name) for name in variant.code.include if Path(name).is_absolute()]
    return "\n".join(_Inliner(folders).inline(follow_links(Path(variant.code.file)), text, path))


def find_local_header(line: str, folder: Path, folders: Sequence[Path]) -> Path | None:
    """The file that an include of a file in `folder` means: next to it, or in one of `folders`."""
    found = _INCLUDE.match(line)
    if found is None:
        return None
    places = [*([folder] if found[1] else []), *folders]
    return next((place / (found[1] or found[2]) for place in places if is_file(place / (found[1] or found[2]))), None)


def quote_path(path: str) -> str:
    """A path as a string of C++."""
    return '"{}"'.format(path.replace("\\", r"\\").replace('"', r"\""))


class _Inliner:
    """Inlines the headers of one text; `folders` are searched after that of the including file."""

    def __init__(self, folders: Sequence[Path]):
        self.folders, self.guards = folders, dict[Path, str]()
        self.open: list[Path] = []
        self.lines = 0

    def inline(self, file: Path, text: str, path: str) -> Iterator[str]:
        """The lines of a text, those of its headers among them."""
        self.open.append(file)
        guard = self.guards.setdefault(file, f"GEMMBENCH_ONCE_{len(self.guards)}") if _ONCE.search(text) else ""
        yield from [f"#ifndef {guard}", f"#define {guard}"] if guard else []
        yield f"#line 1 {quote_path(path)}"
        for number, line in enumerate(_ONCE.sub("", text).split("\n"), 1):
            header = find_local_header(line, file.parent, self.folders)
            if header is None:
                yield self.count(line)
            elif (real := follow_links(header)) not in self.open:  # the guard of an open one makes it empty
                yield from self.inline(real, read_text_file(real), display_path(real))
                yield f"#line {number + 1} {quote_path(path)}"
            else:
                yield ""
        yield from ["#endif"] if guard else []
        self.open.pop()

    def count(self, line: str) -> str:
        """The line, unless there are too many. Raises BuildError."""
        self.lines += 1
        if self.lines > _MOST_LINES:
            raise BuildError(f"more than {_MOST_LINES:,} lines of headers; include fewer of them")
        return line
