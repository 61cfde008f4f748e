"""Writes the text for the compiler, and finds the headers and packages that it needs.

The text of our own files starts with their toolkit includes and the macros of the plan. The rest of the file follows,
and includes of local headers stay in place. Macros are written into the text because `-DN` or `-DT=16` on the command
line would also change the toolkit's headers, which the text includes first.

The text of a foreign file consists of the macros that its manifest defines and an `#include` of the file, which is read
in place and unchanged.

If a text must be self-contained, local headers are copied into it, and `#line` preserves the line numbers.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

from gemmbench.analysis.toolkit import find_nvcc
from gemmbench.errors import BuildError, DeviceError, GemmbenchError, SpecError
from gemmbench.planning.files import display_path, follow_links, is_file, read_code_file
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Plan

_DISTRIBUTIONS = {"cupy": "cupy-cuda13x", "cutlass": "nvidia-cutlass-dsl", "quack": "quack-kernels"}
"""Packages that have a different name in pip."""


def explain_missing(packages: Sequence[str], folder: str = "") -> str:
    """Explain which of these packages is missing, or return "". Imports none of them.

    `folder` is where they may also be; "" for none. If its .pth files have lines of code, which may add any place,
    nothing counts as missing: kernels find out when they import it.
    """
    if folder and any(line.startswith(_CODE) for line in _read_pth_lines(folder)):
        return ""
    paths = tuple(_list_package_paths(folder)) if folder else ()
    missing = [name for name in packages if not _is_installed(name, paths)]
    where = f" in {display_path(Path(folder))}" if folder else ""
    return f"{missing[0]} is not installed{where}: {find_pip_line(missing[0], folder)}" if missing else ""


@cache
def _is_installed(package: str, paths: tuple[str, ...]) -> bool:
    try:
        return PathFinder.find_spec(package, list(paths)) is not None or find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _list_package_paths(folder: str) -> list[str]:
    """Return the places to import from if packages were installed into a folder: itself, and those in its .pth files.

    Lines of code in .pth files are not run here, but when a kernel imports its packages.
    """
    named = [str(Path(folder) / line) for line in _read_pth_lines(folder) if not line.startswith(_CODE)]
    return [folder, *(path for path in named if Path(path).is_dir())]


_CODE = "import ", "import\t"


def _read_pth_lines(folder: str) -> list[str]:
    """Return the lines of all .pth files of a folder, without comments."""
    written = [line.strip() for path in sorted(Path(folder).glob("*.pth")) for line in _read_lines(path)]
    return [line for line in written if line and not line.startswith("#")]


def _read_lines(path: Path) -> list[str]:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8").splitlines()
    return []


def find_pip_line(package: str, folder: str = "") -> str:
    """Return the command that installs the package with this import name, into `folder` unless it is ""."""
    target = f"--target {shlex.quote(display_path(Path(folder)))} " if folder else ""
    return f"pip install {target}{_DISTRIBUTIONS.get(package, package)}"


def describe_packages(variant: Variant) -> dict[str, str]:
    """Return the versions of the packages that a Python variant declares, without those whose version is unknown."""
    folder = variant.python.packages_from
    paths = _list_package_paths(folder) if folder else []
    found = {name: _find_version(name, paths) for name in variant.packages}
    return {name: version for name, version in found.items() if version}


def _find_version(package: str, paths: Sequence[str]) -> str:
    """Return the version of a loaded package, or of an installed one that is first looked for in `paths`."""
    loaded = getattr(sys.modules.get(package), "__version__", None)
    # PyTorch's version is of a class of its own, which cannot be written to a results file.
    return str(loaded) if isinstance(loaded, str) else find_package_version(package, paths)


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)')
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b.*$", re.MULTILINE)
_MOST_LINES, _MOST_INCLUSIONS, _MOST_CHARACTERS = 200_000, 10_000, 1 << 24
_DEEPEST = 200
"""The limit on the nesting of headers, the same as in compilers."""


def inline_headers(variant: Variant, text: str, path: str) -> str:
    """Return `text` with the local headers of a variant copied in. Messages call its file `path`.

    Raises BuildError if headers include each other endlessly, or if a header cannot be read.
    """
    folders = [Path(name) for name in variant.code.include if Path(name).is_absolute()]
    return "\n".join(_Inliner(folders, path).inline(follow_links(Path(variant.code.file)), text, path))


def find_local_header(line: str, folder: Path, folders: Sequence[Path]) -> Path | None:
    """Return the file that an `#include` line of a file in `folder` refers to. Also searches `folders`."""
    found = _INCLUDE.match(line)
    if found is None:
        return None
    places = [*([folder] if found[1] else []), *folders]
    return next((place / (found[1] or found[2]) for place in places if is_file(place / (found[1] or found[2]))), None)


def quote_path(path: str) -> str:
    """Return a path as a C++ string literal."""
    return '"{}"'.format(path.replace("\\", r"\\").replace('"', r"\""))


class _Inliner:
    """Inlines the headers of one text, called `name`. The including file's folder is searched first, then `folders`."""

    def __init__(self, folders: Sequence[Path], name: str):
        self.folders, self.name, self.guards = folders, name, dict[Path, str]()
        self.found: dict[tuple[str, Path], Path | None] = {}
        self.read: dict[Path, tuple[str, str]] = {}
        self.open: list[Path] = []
        self.lines = self.inclusions = self.characters = 0

    def inline(self, file: Path, text: str, path: str) -> Iterator[str]:
        """Yield the lines of a text and its headers."""
        self.open.append(file)
        self.inclusions += 1
        self.check_limits()
        guard = self.guards.setdefault(file, f"GEMMBENCH_ONCE_{len(self.guards)}") if _ONCE.search(text) else ""
        yield from [f"#ifndef {guard}", f"#define {guard}"] if guard else []
        yield f"#line 1 {quote_path(path)}"
        for number, line in enumerate(_ONCE.sub("", text).split("\n"), 1):
            header = self.find_header(line, file.parent) if "include" in line else None
            if header is None:
                yield self.count(line)
            elif header not in self.open:  # an include guard makes it empty while it is open
                if header not in self.read:
                    self.read[header] = _read_header(header), display_path(header)
                yield from self.inline(header, *self.read[header])
                yield f"#line {number + 1} {quote_path(path)}"
            else:
                yield ""
        yield from ["#endif"] if guard else []
        self.open.pop()

    def find_header(self, line: str, folder: Path) -> Path | None:
        """Return the file that a line of a file in `folder` includes.

        Results are cached, because includes often repeat.
        """
        key = line, folder
        if key not in self.found:
            header = find_local_header(line, folder, self.folders)
            self.found[key] = follow_links(header) if header else None
        return self.found[key]

    def count(self, line: str) -> str:
        """Count the line and return it. Raises BuildError if there are too many lines."""
        self.lines += 1
        self.characters += len(line)
        self.check_limits()
        return line

    def check_limits(self) -> None:
        """Raise BuildError if the text exceeds a limit."""
        if self.lines > _MOST_LINES or self.characters > _MOST_CHARACTERS:
            most = f"{_MOST_LINES:,} lines or {_MOST_CHARACTERS:,} characters"
            raise BuildError(f"{self.name}: more than {most} of headers; include fewer of them")
        if self.inclusions > _MOST_INCLUSIONS:
            why = "a header that includes another one twice doubles the number"
            raise BuildError(
                f"{self.name}: more than {_MOST_INCLUSIONS:,} inclusions of headers: {why}; include each once"
            )
        if len(self.open) > _DEEPEST:
            raise BuildError(f"{self.name}: headers are nested more than {_DEEPEST} deep; include fewer of them")


def _read_header(path: Path) -> str:
    """Return the text of a header. Raises BuildError, so that only the rows of kernels that include it fail."""
    try:
        return read_code_file(path)
    except SpecError as fault:
        raise BuildError(str(fault)) from None


@dataclass(frozen=True)
class _Package:
    """A wheel with headers: one of its modules, the folder of headers inside it, and the command that installs it.

    `header` is a header that a complete toolkit also contains, or "".
    """

    module: str
    folder: str
    install: str
    header: str = ""

    @property
    def distribution(self) -> str:
        """The name of the wheel."""
        return self.install.split()[-1]


_PACKAGES = {
    "cutlass": _Package("cutlass_library", "source/include", "pip install --no-deps nvidia-cutlass"),
    "cublas": _Package("nvidia", "cu13/include", "pip install nvidia-cublas", "cublas_v2.h"),
}


def find_header_folder(name: str) -> Path | None:
    """Return the folder with the headers of a package, or None if it is not installed."""
    package = _PACKAGES[name]
    spec = find_spec(package.module)
    folders = [Path(root) / package.folder for root in (spec.submodule_search_locations or [])] if spec else []
    if package.header:
        folders += [folder for folder in _list_toolkit_folders() if (folder / package.header).is_file()]
    return next((folder for folder in folders if folder.is_dir()), None)


def _list_toolkit_folders() -> list[Path]:
    """Return the folder with the headers of the toolkit, if the toolkit is installed."""
    try:
        return [Path(find_nvcc()).resolve().parent.parent / "include"]
    except DeviceError:
        return []


def list_include_folders(variant: Variant) -> list[Path]:
    """Return the folders of `include`, in order, with those of packages."""
    found = [find_header_folder(name) if name in _PACKAGES else Path(name) for name in variant.code.include]
    return [folder for folder in found if folder]


def list_package_folders(variant: Variant) -> list[Path]:
    """Return the folders of `include` that belong to packages, in order."""
    found = [find_header_folder(name) for name in variant.code.include if name in _PACKAGES]
    return [folder for folder in found if folder]


def find_package_version(name: str, paths: Sequence[str] = ()) -> str:
    """Return the version of a header package or Python package; "" if it was not installed from a wheel.

    Wheels in `paths`, if any, come first.
    """
    from importlib import metadata  # slow to import, and not needed to list the variants

    wheel = _PACKAGES[name].distribution if name in _PACKAGES else _DISTRIBUTIONS.get(name, name)
    for found in metadata.distributions(path=list(paths)) if paths else ():
        if any(str(file).partition("/")[0] == name for file in found.files or ()):
            return str(found.version)
    for each in dict.fromkeys((wheel, name)):
        with suppress(metadata.PackageNotFoundError):
            return metadata.version(each)
    return ""


def why_no_headers(variant: Variant) -> str:
    """Return which header package is missing and how to install it, or "" if none is missing."""
    for name in variant.code.include:
        if name in _PACKAGES and find_header_folder(name) is None:
            return f"needs the headers of {name}, which are not installed: {_PACKAGES[name].install}"
    return ""


_INCLUDE_LINE = re.compile(r"^[ \t]*#[ \t]*include\b.*$", re.MULTILINE)
_MISSING_PACKAGE = re.compile(r"\b(cublas|cutlass|cute)[^:]{0,200}: No such file or directory")
_IN_MANIFEST = re.compile(r"[^:]+\.yaml:")
_QUOTED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"', re.MULTILINE)


@dataclass(frozen=True)
class SourceText:
    """The parts of a text in order: includes, macros, and the code with its locations."""

    includes: tuple[str, ...]
    defines: tuple[str, ...]
    code: str

    def join(self) -> str:
        """Return the whole text."""
        return "\n".join([*self.includes, *self.defines, self.code])


def compiler_text(plan: Plan) -> str:
    """Return the text of `plan` with its macros. The compiler will report the original files and lines."""
    return split_text(plan).join()


def split_text(plan: Plan, inline: bool = False) -> SourceText:
    """Split the text of a plan into parts. `inline` copies local headers into it."""
    headers = tuple(f"#include <{header}>" for header in plan.problem.precision.headers)
    defines = tuple(f"#define {name} {value}" for name, value in plan.defines)
    variant, text = plan.variant, plan.variant.text
    if variant.code.foreign:
        code = _inline(variant, text) if inline else f"#include {quote_path(variant.code.file)}\n"
        return SourceText(headers, defines, code)
    hoisted = tuple(line for line in _INCLUDE_LINE.findall(text) if not _is_local(variant, line))
    rest = _INCLUDE_LINE.sub(lambda line: line[0] if _is_local(variant, line[0]) else "", text)
    code = _inline(variant, rest) if inline else f"#line 1 {quote_path(variant.path)}\n{rest}"
    return SourceText((*headers, *hoisted), defines, code)


def inline_text(variant: Variant) -> str:
    """Return the text of a variant with its local headers but no macros. Raises BuildError."""
    return _inline(variant, variant.text)


def find_source_path(variant: Variant) -> str:
    """Return the path of the code for messages. The manifest may be in another file or in none."""
    apart = variant.drafted or variant.code.foreign
    return display_path(Path(variant.code.file)) if apart else variant.path


def read_whole_text(variant: Variant) -> str:
    """Return the text with its local headers. If one cannot be read, leave all of them out; the compiler reports it."""
    try:
        return inline_text(variant) if has_local_headers(variant) else variant.text
    except GemmbenchError:
        return variant.text


_PLACE = re.compile(r'#line (\d+) "((?:[^"\\]|\\.)*)"')
_COMMENT = re.compile(r"//.*")


@dataclass(frozen=True)
class SourceLine:
    """A line of code without comments and white space, and its file as messages name it."""

    path: str
    code: str


def list_source_lines(variant: Variant) -> dict[tuple[str, int], SourceLine]:
    """Return all lines of a variant and its local headers, by file name and line number."""
    lines: dict[tuple[str, int], SourceLine] = {}
    path, number = variant.path, 0
    for text in read_whole_text(variant).split("\n"):
        if place := _PLACE.fullmatch(text):
            path, number = re.sub(r"\\(.)", r"\1", place[2]), int(place[1]) - 1
            continue
        number += 1
        lines[path.rpartition("/")[2], number] = SourceLine(path, "".join(_COMMENT.sub("", text).split()))
    return lines


def has_local_headers(variant: Variant) -> bool:
    """Return whether the code may read headers from outside the toolkit."""
    code = variant.code
    if variant.is_python:
        return False
    return code.foreign or bool(code.include) or any(_QUOTED.finditer(variant.text))


_NO_SUCH_KERNEL = ('cannot deduce "auto" type', "unable to deduce 'const auto' from", "no matching function for call")


def suggest_fix(error: str) -> str:
    """Suggest how to fix a compiler error; "" if there is no advice."""
    if missing := _MISSING_PACKAGE.search(error):
        return f"write `include: [{'cublas' if missing[1] == 'cublas' else 'cutlass'}]`"
    if "No such file or directory" in error:
        return "add the folder of the header to `include`"
    if any(words in error for words in _NO_SUCH_KERNEL):
        return (
            "no kernel matches these template arguments and `args`, or more than one does; correct `symbol` or `args`"
        )
    return "correct `symbol` or `args`" if _IN_MANIFEST.match(error) else ""


def _inline(variant: Variant, text: str) -> str:
    path = display_path(Path(variant.code.file)) if variant.code.foreign else variant.path
    return inline_headers(variant, text, path)


def _is_local(variant: Variant, line: str) -> bool:
    folders = [Path(name) for name in variant.code.include if Path(name).is_absolute()]
    return bool(variant.code.file) and find_local_header(line, Path(variant.code.file).parent, folders) is not None
