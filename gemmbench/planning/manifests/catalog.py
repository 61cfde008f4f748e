"""The catalog: every variant by name, from the folders of kernels and from the libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from gemmbench.errors import SpecError, UsageError, nearest
from gemmbench.planning.manifests.kernel_files import find_file, is_path, list_kernel_files
from gemmbench.planning.manifests.readers import read_variant
from gemmbench.planning.manifests.variant import Pick, Variant
from gemmbench.planning.paths import display_path, follow_links, is_file, printable

MARK = ":"
"""Separates a git revision from a name; see planning.manifests.revision."""


class Catalog:
    """Variants by name. A file is read once, when its variant is used, so a broken file affects no other."""

    def __init__(
        self,
        folders: Iterable[Path],
        libraries: Iterable[Variant] = (),
        read_revision: Callable[[str], Variant] | None = None,
    ):
        """`read_revision` reads a kernel of a git revision, such as HEAD~3:tiled.

        Raises UsageError for a missing folder or a duplicate name.
        """
        self._read_revision = read_revision
        self._libraries = {variant.name: variant for variant in libraries}
        self._files: dict[str, Path] = {}
        self._paths: dict[str, Path] = {}
        self._complete_variants: dict[str, Variant] = {}
        for folder in folders:
            for path in list_kernel_files(folder):
                self._add_file(path)

    def _add_file(self, path: Path) -> None:
        name = printable(path.stem)  # read_variant refuses a file whose name had to be changed for this
        other = self._files.get(name)
        if other is not None and follow_links(other) != follow_links(path):
            here, there = display_path(path), display_path(other)
            if here == there:  # a folder `cuda` of the user, and that of the project
                here, there = printable(str(follow_links(path))), printable(str(follow_links(other)))
            raise UsageError(f"{here}: the name '{name}' is taken by {there}; rename one")
        if name in self._libraries:
            raise UsageError(f"{display_path(path)}: the name '{name}' is taken by a library; rename the file")
        self._files[name] = path

    @property
    def names(self) -> list[str]:
        """The names of all variants, unordered."""
        return [*self._files, *self._libraries]

    @property
    def libraries(self) -> list[Variant]:
        """The variants of libraries, in the order of the ladder."""
        return _sort_ladder(variant for variant in self._libraries.values() if variant.is_library)

    def check_name(self, name: str) -> None:
        """Raise UsageError, with the nearest name, for an unknown name; read a kernel of a revision.

        A path to a file is the name of the variant in it.
        """
        if is_path(name) and name not in self.names and not _is_of_revision(name):
            self._paths[name] = find_file(name)
            return
        if MARK in name and self._read_revision and name not in self.names:
            self._libraries[name] = self._read_revision(name)
        if name not in self._files and name not in self._libraries:
            known = ", ".join(sorted(self.names))
            raise UsageError(f"unknown variant '{name}'{nearest(name, self.names)}; known: {known}")

    def get(self, name: str) -> Variant:
        """Return a variant, with the variants that it picks from.

        Raises UsageError (unknown name) or SpecError (broken manifest).
        """
        self.check_name(name)
        if name in self._paths:
            return replace(self._complete(read_variant(self._paths[name]), ()), name=name)
        return self._libraries[name] if name in self._libraries else self._read(name, ())

    def _read(self, name: str, above: tuple[str, ...]) -> Variant:
        """Read a file, unless it has been; `above` are the variants that pick it, the outermost first."""
        if name not in self._complete_variants:
            self._complete_variants[name] = self._complete(read_variant(self._files[name]), (*above, name))
        return self._complete_variants[name]

    def _complete(self, variant: Variant, above: tuple[str, ...]) -> Variant:
        """The variant with the variants that it picks from."""
        return replace(variant, picks=tuple(self._find_code(variant, pick, above) for pick in variant.picks))

    def _find_code(self, variant: Variant, pick: Pick, above: tuple[str, ...]) -> Pick:
        """Return the row with the variant that it names. Raises SpecError at the row."""
        name = pick.variant
        if name in above:
            circle = " -> ".join((*above, name))
            raise SpecError(variant.path, pick.line, f"pick: circular: {circle}; pick another variant")
        if name not in self._files:
            known = [other for other in self._files if other not in above]
            fault = "is a library; only kernels can be picked" if name in self._libraries else "is not a kernel"
            raise SpecError(variant.path, pick.line, f"pick: '{name}' {fault}{nearest(name, known)}")
        code = self._read(name, above)
        if not (code.is_kernel or code.is_launcher) or code.computes != "gemm":
            raise SpecError(
                variant.path, pick.line, f"pick: '{name}' is not a .cu file that computes a GEMM; pick another"
            )
        declared = [key for key, _ in code.params]
        for key, _ in pick.params:
            if key not in declared:
                hint = f"{nearest(key, declared)}; known: {', '.join(declared) or 'none'}"
                raise SpecError(variant.path, pick.line, f"pick: {name} has no parameter '{key}'{hint}")
        return replace(pick, code=code)

    def find_file(self, name: str) -> Path:
        """The file of a variant that has one. Raises UsageError."""
        self.check_name(name)
        found = self._paths.get(name) or self._files.get(name)
        if found is None:
            raise UsageError(f"{name} has no file that could be changed")
        return found

    def read_all(self) -> tuple[list[Variant], list[SpecError]]:
        """Return all variants in the order of the ladder, and what is wrong with the files that cannot be read."""
        variants, faults = self._read_each(self.names)
        return _sort_ladder(variants), list(faults.values())

    def _read_each(self, names: Iterable[str]) -> tuple[list[Variant], dict[str, SpecError]]:
        """The variants that can be read, and what is wrong with the others."""
        variants: list[Variant] = []
        faults: dict[str, SpecError] = {}
        for name in dict.fromkeys(names):
            try:
                variants.append(self.get(name))
            except SpecError as fault:
                faults[name] = fault
        return variants, faults

    def get_ladder(self, names: Iterable[str], needed: str = "") -> list[Variant]:
        """Return the named variants in the order of the ladder.

        A file that cannot be read is a variant with a `fault`. Raises SpecError if it is the one that is
        `needed`, or if no other can be read.
        """
        variants, faults = self._read_each(names)
        if faults and (needed in faults or all(variant.name == needed for variant in variants)):
            raise faults.get(needed) or next(iter(faults.values()))
        return _sort_ladder([*variants, *(Variant.unreadable(name, str(why)) for name, why in faults.items())])


def _is_of_revision(name: str) -> bool:
    """Whether a path, such as HEAD~3:kernels/mine.cu, is that of a git revision."""
    return MARK in name and not is_file(Path(name))


def _sort_ladder(variants: Iterable[Variant]) -> list[Variant]:
    return sorted(variants, key=lambda variant: (variant.order, variant.name))
