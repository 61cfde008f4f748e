"""The catalog: every variant by name, from the folders of kernels and from the libraries.

The suffix of a file determines where its manifest is:

.cu .cpp    between `/*---` and `---*/` at the top of the file
.yaml       the file is the manifest, and its key `file` names the code
.py         the docstring of the module
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from gemmbench.errors import SpecError, UsageError, nearest
from gemmbench.planning.files import (
    display_path,
    follow_links,
    is_file,
    is_folder,
    printable,
    read_code_file,
    read_text_file,
)
from gemmbench.planning.manifests.card_costs import check_parameters, read_costs_files
from gemmbench.planning.manifests.code_keys import find_code_file
from gemmbench.planning.manifests.manifest import ManifestReader
from gemmbench.planning.manifests.python_code import parse_module
from gemmbench.planning.manifests.variant import Pick, Variant
from gemmbench.planning.yaml_document import parse_document

_HEADER = re.compile(r"\s*/\*---[ \t]*\n(.*?)^---\*/", re.DOTALL | re.MULTILINE)


_BEGINNING = re.compile(r"\s*/\*---(?=\s*\n)")
_NEARLY_END = re.compile(r"^[^\S\n]*-{2,}[^\S\n]*\*/|^[^\S\n]+\*/", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9_.+-]+")
NAME_LETTERS = "only ASCII letters, digits and _ . + -"
"""The characters allowed in a kernel's name, which are all safe in tables, logs, file names and shells."""


def is_kernel_name(text: str) -> bool:
    """Return whether a text can be the name of a kernel."""
    return _NAME.fullmatch(text) is not None


def _has_header(text: str) -> bool:
    """Return whether C++ text begins with a manifest."""
    return _HEADER.match(text) is not None


def _check_end(text: str, location: str) -> None:
    """Raise SpecError if a manifest begins but does not end."""
    begun = _BEGINNING.match(text)
    if begun and _MANIFEST_KEY.search(text):
        line = text.count("\n", 0, begun.end()) + 1
        found = _NEARLY_END.search(text)
        near = f"; line {text.count(chr(10), 0, found.start()) + 1} has `{found[0].strip()}`" if found else ""
        raise SpecError(location, line, f"the manifest has no end: write `---*/` at the start of a line{near}")


def read_variant(path: Path) -> Variant:
    """Read a variant. Raises SpecError, which names the file, the line, the fault and the fix."""
    if not is_kernel_name(path.stem):
        raise SpecError(display_path(path), None, f"the name of a kernel may have {NAME_LETTERS}; rename the file")
    return READERS[path.suffix](path)


class NoManifest(SpecError):
    """A file of code has no manifest: it may be a kernel to name by its path, or none at all."""


def _read_kernel_file(path: Path) -> Variant:
    location, text = display_path(path), read_code_file(path)
    header = _HEADER.match(text)
    if header is None:
        read_text_file(path)  # it may be no text at all, which is the first thing to say
        _check_end(text, location)
        how = "the file must begin with `/*---`, YAML lines, and `---*/`"
        other = "or describe it in a .yaml file with `file:`, which `gemmbench new NAME --from FILE` drafts"
        raise NoManifest(location, 1, f"no manifest: {how}; {other}")
    first_line = text.count("\n", 0, header.start(1)) + 1
    document = parse_document(header[1], location, first_line)
    if ("file",) in document.lines:
        raise document.error_at(("file",), "file: only a manifest in a .yaml file may have this key; remove it")
    return ManifestReader(document, path, path, text).read()


def read_drafted(path: Path, manifest: str, text: str) -> Variant:
    """Make the variant of a code file from a manifest that is not in any file. Raises SpecError."""
    document = parse_document(manifest, f"{display_path(path)} (drafted manifest)")
    module = parse_module(text, display_path(path)) if path.suffix == ".py" else None
    reader = ManifestReader(document, path, follow_links(path), text, module)
    return replace(reader.read(), drafted=True)  # as `file` names it


def _read_manifest_file(path: Path) -> Variant:
    document = parse_document(read_text_file(path), display_path(path))
    code = find_code_file(document, path.parent)
    if code.suffix != ".py":
        return ManifestReader(document, path, code, read_code_file(code)).read()
    text = read_text_file(code)
    if _has_python_manifest(text):
        message = f"file: {code.name} has its manifest in its docstring; give that file instead"
        raise document.error_at(("file",), message)
    return ManifestReader(document, path, code, text, parse_module(text, display_path(code))).read()


def _read_python_file(path: Path) -> Variant:
    location, text = display_path(path), read_text_file(path)
    module = parse_module(text, location)
    if module.docstring is None:
        how = "the file must begin with a docstring of YAML lines, or be described in a .yaml file with `file:`"
        raise NoManifest(location, 1, f"no manifest: {how}")
    document = parse_document(module.docstring, location, module.first_line)
    return ManifestReader(document, path, path, text, module).read()


READERS: dict[str, Callable[[Path], Variant]] = {
    ".cu": _read_kernel_file,
    ".cpp": _read_kernel_file,
    ".yaml": _read_manifest_file,
    ".py": _read_python_file,
}
"""The function that reads each kind of file that can be a variant, by suffix."""


SUFFIXES = tuple(READERS)
"""The suffixes of files that can be variants."""

_FILE_KEY = re.compile(r"^file:([^#\n]+)", re.MULTILINE)
_DOCSTRING_KEY = re.compile(r"^(?:[rR]?[\"']+)?(?:summary|precisions|params):", re.MULTILINE)


def has_manifest(path: Path, text: str) -> bool:
    """Return whether a file of code has a manifest."""
    return _has_python_manifest(text) if path.suffix == ".py" else _has_header(text)


def _has_python_manifest(text: str) -> bool:
    """Return whether a Python text has a line of a manifest, which is in its docstring."""
    return _DOCSTRING_KEY.search(text) is not None


_MANIFEST_KEY = re.compile(r"^(?:file|summary|symbol|host):", re.MULTILINE)


def _list_kernel_files(folder: Path) -> list[Path]:
    """List the files in a folder and its sub-folders that declare variants. Raises UsageError if there is no folder.

    A code file that is described by a separate manifest counts only if it also has a manifest itself. YAML and Python
    files without a manifest key do not count.
    """
    if not is_folder(folder):
        raise UsageError(f"no folder of kernels at {folder}; give --kernels a folder with .cu files")
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES]
    others: set[Path] = set()  # YAML that is no manifest
    described: set[Path] = set()
    for path in found:
        if path.suffix == ".yaml" and (text := _read_text(path)) is not None:
            if _MANIFEST_KEY.search(text) is None:
                others.add(path)
            if named := _FILE_KEY.search(text):  # a second one is a fault of the manifest
                described.add(follow_links(path.parent / named[1].strip().strip("\"'")))
    return [path for path in found if path not in others and _is_variant(path, described)]


def _is_variant(path: Path, described: set[Path]) -> bool:
    if path.suffix == ".yaml":
        return True
    if path.suffix == ".py":
        return _has_python_manifest(_read_text(path) or "summary:")
    text = _read_text(path) if follow_links(path) in described else None
    return text is None or _has_header(text)


def _read_text(path: Path) -> str | None:
    """Return the text of a file; None if it cannot be read, which is reported elsewhere."""
    try:
        return read_code_file(path)
    except SpecError:
        return None


def _lacks_manifest(path: Path) -> bool:
    """Return whether a code file next to kernels is not a variant, such as the `main.cu` of another program."""
    return path.suffix in (".cu", ".cpp") and not _has_header(_read_text(path) or "/*---\n---*/")


def _explain_clash(name: str, path: Path, other: Path) -> SpecError:
    here, there = display_path(path), display_path(other)
    if here == there:  # a folder `cuda` of the user, and that of the project
        here, there = printable(str(follow_links(path))), printable(str(follow_links(other)))
    return SpecError(here, None, f"the name '{name}' is taken by {there}; rename one")


def is_path(name: str) -> bool:
    """Return whether a name is a path: it has a known suffix, and contains a folder or names an existing file."""
    return Path(name).suffix in (*SUFFIXES, *_CODE) and (os.sep in name or is_file(Path(name)))


_CODE = (".cu", ".cuh", ".py")
"""The suffixes of files that need no manifest."""


def _split_kernel(name: str) -> tuple[str, str]:
    """Split `./mine.cu:tiled` into a path and the kernel in the file; the kernel is "" if it is not given."""
    path, mark, kernel = name.partition(MARK)
    return (path, kernel) if mark and Path(path).suffix in _CODE and is_file(Path(path)) else (name, "")


def find_file(name: str) -> Path:
    """Return the file that a path names. Raises UsageError."""
    path = Path(name).expanduser()
    if is_folder(path):
        raise _refuse_folder(name)
    if not is_file(path):
        raise _explain_missing(name, ())
    return path


def _refuse_folder(name: str) -> UsageError:
    """Return the error for a folder, or for nothing, that was named instead of a kernel."""
    if not name.strip():
        return UsageError("the name of a kernel is empty; `gemmbench list` shows the kernels")
    shown = printable(name)
    return UsageError(f"{shown} is a folder; to use all kernels in it, write --kernels {shown}")


def _explain_missing(name: str, known: Sequence[str]) -> UsageError:
    """Return the error for a missing file. It names similar files in the folder or similar variants among `known`."""
    folder, shown = Path(name).expanduser().parent, printable(name)
    if not is_folder(folder):
        return UsageError(
            f"no such file: {shown}: the folder {printable(str(folder))} does not exist; correct the path"
        )
    before = shown[: len(shown) - len(Path(shown).name)]
    files = [f"{before}{printable(each.name)}" for each in _list_code(folder)]
    hint = nearest(shown, [*files, *known], most=_MOST_NEAREST)
    return UsageError(f"no such file: {shown}{hint or '; correct the path'}")


def _list_code(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if each.suffix in {*SUFFIXES, *_CODE})
    except OSError:
        return []


MARK = ":"
"""The separator between a git revision and a name. See planning.manifests.revisions."""


class Catalog:
    """Variants by name. A file is read only when its variant is used, so a broken file does not affect others."""

    def __init__(
        self,
        folders: Iterable[Path],
        libraries: Iterable[Variant] = (),
        read_revision: Callable[[str], Variant] | None = None,
        draft: Callable[[Path, str], Variant] | None = None,
    ):
        """`read_revision` reads a kernel of a git revision, such as HEAD~3:tiled.

        `draft` makes a variant from a file without a manifest and the name of its kernel ("" for any).

        Raises UsageError if a folder does not exist.
        """
        self._read_revision, self._draft = read_revision, draft
        self._libraries = {variant.name: variant for variant in libraries}
        self._files: dict[str, Path] = {}
        self._clashes: dict[str, SpecError] = {}
        self._paths: dict[str, Path] = {}
        self._complete_variants: dict[str, Variant] = {}
        for folder in folders:
            for path in _list_kernel_files(folder):
                self._add_file(path)

    def _add_file(self, path: Path) -> None:
        name = printable(path.stem)  # read_variant refuses a file whose name had to be changed for this
        other = self._files.get(name)
        if other is not None and follow_links(other) != follow_links(path):
            if _lacks_manifest(path):
                return
            if not _lacks_manifest(other):
                self._clashes[name] = _explain_clash(name, path, other)
        if name in self._libraries:
            message = f"the name '{name}' is taken by a library; rename the file"
            self._clashes[name] = SpecError(display_path(path), None, message)
            return
        self._files[name] = path

    @property
    def names(self) -> list[str]:
        """The names of all variants, in no particular order."""
        return [*self._files, *self._libraries]

    @property
    def libraries(self) -> list[Variant]:
        """The variants of libraries, in the order of the ladder."""
        return _sort_ladder(variant for variant in self._libraries.values() if variant.is_library)

    def check_name(self, name: str) -> None:
        """Raise UsageError, which suggests the nearest name, for an unknown name. A kernel of a revision is read.

        The path of a file is the name of the variant in it.
        """
        path = _split_kernel(name)[0]
        if is_path(path) and name not in self.names and not _is_of_revision(path):
            self._paths[name] = find_file(path)
            return
        if os.sep in path and is_file(Path(path)):
            kinds = ", ".join(sorted({*SUFFIXES, *_CODE}))
            raise UsageError(
                f"{printable(path)}: the name of a code file must end in one of {kinds}; rename or copy it"
            )
        head = name.partition(MARK)[0]
        if MARK in name and Path(head).suffix in _CODE and not is_file(Path(head)):
            raise _explain_missing(head, ())
        if MARK in name and self._read_revision and name not in self.names:
            self._libraries[name] = self._read_revision(name)
        if name not in self._files and name not in self._libraries:
            if is_folder(Path(name).expanduser()):
                raise _refuse_folder(name)
            if Path(path).suffix in {*SUFFIXES, *_CODE} and not _is_of_revision(path):
                raise _explain_missing(path, self.names)
            raise UsageError(f"unknown kernel '{name}'{_suggest_names(name, self.names)}")

    def get(self, name: str) -> Variant:
        """Return a variant, including the variants that it picks from.

        Raises UsageError for an unknown name, and SpecError for a broken manifest.
        """
        self.check_name(name)
        if name in self._paths:
            if name not in self._complete_variants:
                self._complete_variants[name] = replace(self._complete(self._read_path(name), ()), name=name)
            return self._complete_variants[name]
        is_library = name in self._libraries and name not in self._clashes
        return self._libraries[name] if is_library else self._read(name, ())

    def _read_path(self, name: str) -> Variant:
        """Return the variant of the file that a path names. The file may need a draft."""
        path, kernel = self._paths[name], _split_kernel(name)[1]
        if self._draft and path.suffix in _CODE and not has_manifest(path, text := read_code_file(path)):
            _check_end(text, display_path(path))
            return self._draft(path, kernel)
        if kernel:
            raise SpecError(display_path(path), None, f"its manifest names its kernel; leave out {MARK}{kernel}")
        return read_variant(path)

    def _read(self, name: str, above: tuple[str, ...]) -> Variant:
        """Read a file unless that was done before. `above` are the variants that pick it, the outermost first."""
        if name in self._clashes:
            raise self._clashes[name]
        if name not in self._complete_variants:
            self._complete_variants[name] = self._complete(read_variant(self._files[name]), (*above, name))
        return self._complete_variants[name]

    def _complete(self, variant: Variant, above: tuple[str, ...]) -> Variant:
        """Return the variant, including the variants that it picks from and the files with fitted constants."""
        picks = tuple(self._find_code(variant, pick, above) for pick in variant.picks)
        is_estimated = any(pick.estimate for pick in picks)
        return replace(variant, picks=picks, costs=read_costs_files(Path(variant.code.file)) if is_estimated else ())

    def _find_code(self, variant: Variant, pick: Pick, above: tuple[str, ...]) -> Pick:
        """Return the row of a `pick`, including the variant that it names. Raises SpecError at the row."""
        name = pick.variant
        if name in above:
            circle = " -> ".join((*above, name))
            raise SpecError(variant.path, pick.line, f"pick: circular: {circle}; pick another kernel")
        if name not in self._files:
            known = [other for other in self._files if other not in above]
            fault = "is a library; only kernels can be picked" if name in self._libraries else "is not a kernel"
            raise SpecError(variant.path, pick.line, f"pick: '{name}' {fault}{nearest(name, known)}")
        code = self._read(name, above)
        if not (code.is_kernel or code.is_launcher) or code.computes != "gemm":
            raise SpecError(
                variant.path, pick.line, f"pick: '{name}' is not a .cu file that computes a GEMM; pick another kernel"
            )
        declared = [key for key, _ in code.params]
        for key, _ in pick.params:
            if key not in declared:
                hint = f"{nearest(key, declared)}; known: {', '.join(declared) or 'none'}"
                raise SpecError(variant.path, pick.line, f"pick: {name} has no parameter '{key}'{hint}")
        check_parameters(variant, pick, declared)
        return replace(pick, code=code)

    def find_file(self, name: str) -> Path:
        """Return the file of a variant. Raises UsageError if it has none."""
        self.check_name(name)
        found = self._paths.get(name) or self._files.get(name)
        if found is None:
            raise UsageError(f"{name} has no file that could be changed")
        return found

    def read_all(self) -> tuple[list[Variant], list[SpecError]]:
        """Return all variants in ladder order, and the errors of those files that cannot be read."""
        variants, faults = self._read_each(self.names)
        return _sort_ladder(variants), list(faults.values())

    def _read_each(self, names: Iterable[str]) -> tuple[list[Variant], dict[str, SpecError]]:
        """Return the variants that can be read, and the errors of the others."""
        variants: list[Variant] = []
        faults: dict[str, SpecError] = {}
        for name in dict.fromkeys(names):
            try:
                variants.append(self.get(name))
            except SpecError as fault:
                faults[name] = fault.with_traceback(None)  # whose frames hold the text of the file
        return variants, faults

    def get_ladder(self, names: Iterable[str], needed: str = "") -> list[Variant]:
        """Return the named variants in ladder order.

        A file that cannot be read becomes a variant with a `fault`. Raises SpecError if it is the one that is `needed`,
        or if no other can be read.
        """
        variants, faults = self._read_each(names)
        if faults and (needed in faults or all(variant.name == needed for variant in variants)):
            raise faults.get(needed) or next(iter(faults.values()))
        return _sort_ladder([*variants, *(Variant.unreadable(name, str(why)) for name, why in faults.items())])


_MOST_NEAREST = 3


def find_named_here(name: str) -> str:
    """Return the path of the file with this name in the current folder, such as `./mine.cu`; "" if there is none."""
    return next((file for file in (f"./{name}{suffix}" for suffix in SUFFIXES) if is_file(Path(file))), "")


def _suggest_names(name: str, known: Sequence[str]) -> str:
    """Suggest what an unknown name meant: a file with that name in this folder, or the most similar names."""
    if here := find_named_here(name):
        return f"; to use the file in this folder, write {here}"
    hint = nearest(name, known, most=_MOST_NEAREST)
    return (
        f"{hint}; `gemmbench list` shows all names; name a file by its path, such as ./mine.cu, or add --kernels FOLDER"
    )


def _is_of_revision(name: str) -> bool:
    """Return whether a path belongs to a git revision, such as HEAD~3:kernels/mine.cu."""
    return MARK in name and not is_file(Path(name))


def _sort_ladder(variants: Iterable[Variant]) -> list[Variant]:
    return sorted(variants, key=lambda variant: (variant.order, variant.name))
