"""The keys of a manifest that say where the code is and how it is compiled."""

from __future__ import annotations

import re
from pathlib import Path

from gemmbench.errors import nearest
from gemmbench.planning.manifests.code.model import Code, Flag, Part
from gemmbench.planning.manifests.manifest_model import Manifest
from gemmbench.planning.manifests.sections import FlagFields, SectionReader
from gemmbench.planning.paths import display_path, follow_links, is_file, is_folder
from gemmbench.planning.yaml_document import Document

PACKAGES = ("cutlass", "cublas")
"""Names of `include` that mean the headers of an installed package."""

_FLAGS = (
    r"-use_fast_math|--use_fast_math",
    r"--?(expt-relaxed-constexpr|expt-extended-lambda|extended-lambda|restrict|extra-device-vectorization)",
    r"-O[0-3]|-std=c\+\+(17|20)",
    r"--?(ftz|prec-div|prec-sqrt|fmad)=(true|false)",
    r"-Xptxas[= ]?(-O[0-3]|-dlcm=(ca|cg|cs|cv)|-dscm=(wb|cg|cs|wt)|-allow-expensive-optimizations=(true|false))",
    r"-(Xptxas|-ptxas-options)=-?-register-usage-level=\d+",
)
_ALLOWED = re.compile("|".join(f"(?:{flag})" for flag in _FLAGS))
_EXAMPLES = "-use_fast_math, --expt-relaxed-constexpr, -O1, -Xptxas=-dlcm=cg"
_MACRO = re.compile(r"[A-Za-z_]\w*$")
_MOST_REGISTERS = 255


def find_code_file(document: Document, folder: Path) -> Path:
    """Return the file that `file` names. Raises SpecError where there is none."""
    name = document.data.get("file")
    if not isinstance(name, str) or not name:
        example = "write `file: kernel.cuh`, relative to this manifest"
        raise document.error_at(("file",), f"missing key `file`: which file has the code; {example}")
    path = follow_links(folder / Path(name).expanduser())
    if not is_file(path):
        raise document.error_at(("file",), f"file: no file at {display_path(path)}; correct the path or fetch it")
    return path


def read_code(document: Document, manifest: Manifest, sections: SectionReader, path: Path, folder: Path) -> Code:
    """Read where the code is and how it is compiled; `folder` is that of the manifest."""
    foreign = bool(manifest.file)
    if manifest.define and not foreign:
        message = "define: only a manifest with `file` has it; here `params` are macros by themselves"
        raise document.error_at(("define",), message)
    if not 0 <= manifest.maxregcount <= _MOST_REGISTERS:
        message = f"maxregcount: {manifest.maxregcount} registers; a thread has 16 to {_MOST_REGISTERS}"
        raise document.error_at(("maxregcount",), message)
    return Code(
        file=str(path),
        foreign=foreign,
        defines=tuple((name, _read_define(document, sections, name, text)) for name, text in manifest.define.items()),
        include=tuple(_read_include(document, index, name, folder) for index, name in enumerate(manifest.include)),
        flags=_read_flags(document, manifest),
        maxregcount=manifest.maxregcount,
    )


def _read_define(document: Document, sections: SectionReader, name: str, text: object) -> Part:
    if not _MACRO.match(name):
        raise document.error_at(("define", name), f"define: '{name}' is not the name of a macro")
    if isinstance(text, bool):
        return str(text).lower()
    if not isinstance(text, str | int | float):
        raise document.error_at(("define", name), f"define.{name}: write an expression, or text such as float")
    return sections.read_part(("define", name), str(text))


def _read_include(document: Document, index: int, name: str, folder: Path) -> str:
    if name in PACKAGES:
        return name
    path = follow_links(folder / Path(name).expanduser())
    if not is_folder(path):
        message = f"include: no folder at {display_path(path)}{nearest(name, PACKAGES)}; known packages: "
        raise document.error_at(("include", index), message + ", ".join(PACKAGES))
    return str(path)


def _read_flags(document: Document, manifest: Manifest) -> tuple[Flag, ...]:
    sections = SectionReader(document, tuple(manifest.params))
    flags = []
    for index, written in enumerate(manifest.flags):
        fields = written if isinstance(written, FlagFields) else None
        text = fields.flag if fields else str(written)
        if not _ALLOWED.fullmatch(text):
            message = f"flags: '{text}' is not allowed; allowed are those that change code only, such as {_EXAMPLES}"
            raise document.error_at(("flags", index), message)
        flags.append(Flag(text, sections.read_optional(("flags", index, "when"), fields.when if fields else None)))
    return tuple(flags)
