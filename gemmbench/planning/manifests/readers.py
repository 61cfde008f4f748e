"""Reads a variant from its file: which suffix has its manifest where.

.cu .cpp    between `/*---` and `---*/` at the top of the file
.yaml       the file is the manifest, and its key `file` names the code
.py         the docstring of the module
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from gemmbench.errors import SpecError
from gemmbench.planning.manifests.code.compilation import find_code_file
from gemmbench.planning.manifests.code.python_module import parse_module
from gemmbench.planning.manifests.manifest import ManifestReader
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.paths import display_path, printable
from gemmbench.planning.text_file import read_text_file
from gemmbench.planning.yaml_document import parse_document

_HEADER = re.compile(r"\s*/\*---[ \t]*\n(.*?)^---\*/", re.DOTALL | re.MULTILINE)


def has_manifest(text: str) -> bool:
    """Whether a text of C++ begins with a manifest."""
    return _HEADER.match(text) is not None


def read_variant(path: Path) -> Variant:
    """Read a variant. Raises SpecError with the file, the line, the fault and the fix."""
    if path.stem != printable(path.stem):
        message = "the name of a kernel must be printable UTF-8; rename the file"
        raise SpecError(display_path(path), None, message)
    return READERS[path.suffix](path)


def _read_kernel_file(path: Path) -> Variant:
    location, text = display_path(path), read_text_file(path)
    header = _HEADER.match(text)
    if header is None:
        other = "or describe it in a .yaml file with `file:`, which `gemmbench new NAME --from FILE` drafts"
        raise SpecError(location, 1, f"no manifest: the file must begin with `/*---`, YAML lines, and `---*/`; {other}")
    first_line = text.count("\n", 0, header.start(1)) + 1
    document = parse_document(header[1], location, first_line)
    if ("file",) in document.lines:
        raise document.error_at(("file",), "file: only a manifest in a .yaml file has it; remove it")
    return ManifestReader(document, path, path, text).read()


def _read_manifest_file(path: Path) -> Variant:
    document = parse_document(read_text_file(path), display_path(path))
    code = find_code_file(document, path.parent)
    if code.suffix == ".py":
        raise document.error_at(("file",), f"file: {code.name} has its manifest in its docstring; name that file")
    return ManifestReader(document, path, code, read_text_file(code)).read()


def _read_python_file(path: Path) -> Variant:
    location, text = display_path(path), read_text_file(path)
    module = parse_module(text, location)
    return ManifestReader(parse_document(module.manifest, location, module.first_line), path, path, text, module).read()


READERS: dict[str, Callable[[Path], Variant]] = {
    ".cu": _read_kernel_file,
    ".cpp": _read_kernel_file,
    ".yaml": _read_manifest_file,
    ".py": _read_python_file,
}
"""The reader of each kind of file that can be a variant, by its suffix."""
