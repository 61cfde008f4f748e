"""The catalog: every variant by name, from the folders of kernels and from the libraries."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gemmbench.errors import UsageError, nearest
from gemmbench.spec.manifest import read_variant
from gemmbench.spec.paths import shown
from gemmbench.spec.variant import Variant

SUFFIXES = (".cu", ".cpp")


class Catalog:
    """Variants by name. A file is read when it is asked for, so one broken file hurts no other."""

    def __init__(self, folders: Iterable[Path], libraries: Iterable[Variant] = ()):
        """Raises UsageError for a missing folder, or a name that stands twice."""
        self._libraries = {variant.name: variant for variant in libraries}
        self._files: dict[str, Path] = {}
        for folder in folders:
            self._add_folder(folder)

    def _add_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"no folder of kernels at {folder}; give --kernels a folder with .cu files")
        for path in sorted(folder.rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            other = self._files.get(path.stem)
            if other is not None and other.resolve() != path.resolve():
                raise UsageError(f"{shown(path)}: the name '{path.stem}' is taken by {shown(other)}; rename one")
            if path.stem in self._libraries:
                raise UsageError(f"{shown(path)}: the name '{path.stem}' is taken by a library; rename the file")
            self._files[path.stem] = path

    @property
    def names(self) -> list[str]:
        """All names, in no particular order."""
        return [*self._files, *self._libraries]

    def find(self, name: str) -> None:
        """Raise UsageError, with the nearest name, for a name that is not there."""
        if name not in self._files and name not in self._libraries:
            known = ", ".join(sorted(self.names))
            raise UsageError(f"unknown variant '{name}'{nearest(name, self.names)}; known: {known}")

    def get(self, name: str) -> Variant:
        """Return one variant. Raises UsageError (unknown name) or SpecError (broken manifest)."""
        self.find(name)
        return self._libraries[name] if name in self._libraries else read_variant(self._files[name])

    def ladder(self, names: Iterable[str]) -> list[Variant]:
        """Return the named variants in ladder order."""
        return sorted((self.get(name) for name in dict.fromkeys(names)), key=lambda found: (found.order, found.name))
