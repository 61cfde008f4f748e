"""A page of the documentation: finds its generated parts and rewrites them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gemmbench.errors import GemmbenchError, StoreError, nearest
from gemmbench.planning.files import data_folder

if TYPE_CHECKING:
    from tools.citations import Citation

ROOT = data_folder("cuda").parent
README = ROOT / "README.md"
_OPTIONAL, _NOT_MEASURED = "optional", "Not measured yet by today's rules."
_PART = re.compile(r"(<!-- begin (\S+)([^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


class NoResults(StoreError):
    """No file of results matches a pattern; an `optional` part then says so."""


def list_pages() -> list[Path]:
    """README.md and the pages of the manual."""
    return [README, *sorted((ROOT / "docs").glob("**/*.md"))]


@dataclass
class Page:
    """One page, and what writes each kind of part.

    `files` collects what the parts write besides text, such as pictures, by path, and `citations` the sources of their
    figures.
    """

    path: Path
    kinds: Mapping[str, Callable[..., str]]
    files: dict[Path, str] = field(default_factory=dict)
    citations: list[Citation] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The path relative to the root of the repository, if it is in there."""
        return str(self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path)

    def generate(self) -> dict[Path, str]:
        """The text of the page with every part rewritten, and the files that go with it, by path.

        Raises GemmbenchError with the page and the part that cannot be written.
        """
        text = _PART.sub(self._write_part, self.path.read_text(encoding="utf-8"))
        return {self.path: text, **self.files}

    def find_stale(self) -> dict[Path, str]:
        """The files that `generate` would change. Raises GemmbenchError."""
        return {path: text for path, text in self.generate().items() if not holds(path, text)}

    def list_citations(self) -> list[Citation]:
        """The sources of its parts' figures, each once; only parts of `kinds` are written. Raises GemmbenchError."""
        for found in _PART.finditer(self.path.read_text(encoding="utf-8")):
            if found[2] in self.kinds:
                self._write_part(found)
        return list(dict.fromkeys(self.citations))

    def cite(self, citation: Citation) -> Citation:
        """Record the source of the figures in a part and return it."""
        self.citations.append(citation)
        return citation

    def _write_part(self, found: re.Match[str]) -> str:
        kind, words = found[2], shlex.split(found[3])
        try:
            return f"{found[1]}{self._write_body(kind, words)}\n{found[4]}"
        except GemmbenchError as fault:
            raise StoreError(f"{self.name}: part '{kind}{found[3]}': {fault}") from None

    def _write_body(self, kind: str, words: Sequence[str]) -> str:
        if kind not in self.kinds:
            raise StoreError(f"unknown kind{nearest(kind, self.kinds)}; known: {', '.join(self.kinds)}")
        try:
            return self.kinds[kind](self, *(word for word in words if word != _OPTIONAL))
        except NoResults:
            if _OPTIONAL not in words:
                raise
            return _NOT_MEASURED


def holds(path: Path, text: str) -> bool:
    """Whether a file has this text."""
    return path.is_file() and path.read_text(encoding="utf-8") == text
