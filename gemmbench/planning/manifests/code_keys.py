"""Reads the keys of a manifest that say where the code is, how it is compiled, and which arguments it takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gemmbench.errors import nearest
from gemmbench.planning.epilogues import EPILOGUE_STEPS
from gemmbench.planning.files import display_path, follow_links, is_file, is_folder
from gemmbench.planning.manifests.expressions import BATCH_NAMES, GROUP_NAMES, Expression
from gemmbench.planning.manifests.manifest_model import Manifest
from gemmbench.planning.manifests.sections import FlagFields, SectionReader
from gemmbench.planning.manifests.variant import (
    GROUPS,
    MANY,
    NULL,
    OPERANDS,
    SCALARS,
    SEPARATE_C,
    STREAM,
    Argument,
    ArgumentText,
    Call,
    Code,
    Flag,
    Part,
    Structure,
    has_scales,
)
from gemmbench.planning.precisions import resolve_precision
from gemmbench.planning.problems import OFFSETS, SCALED
from gemmbench.planning.yaml_document import Document
from gemmbench.planning.yaml_document import Path as DocumentPath

_PACKAGES = ("cutlass", "cublas")
"""Names in `include` that stand for the headers of an installed package."""

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
    """Find the file that `file` names. Raises SpecError if it does not exist."""
    name = document.data.get("file")
    if not isinstance(name, str) or not name:
        example = "write `file: kernel.cuh`, relative to this manifest"
        if ("pick",) in document.lines:
            raise document.error_at(("pick",), "pick: belongs in a .cu file, without code; move these lines there")
        raise document.error_at(("file",), f"missing key `file`, which says which file has the code; {example}")
    path = follow_links(folder / Path(name).expanduser())
    if not is_file(path):
        raise document.error_at(("file",), f"file: no file at {display_path(path)}; correct the path or fetch it")
    return path


def read_code(document: Document, manifest: Manifest, sections: SectionReader, path: Path, folder: Path) -> Code:
    """Read where the code is and how it is compiled. `folder` is the folder of the manifest."""
    foreign = bool(manifest.file)
    if manifest.define and not foreign:
        message = "define: only a manifest with `file` may have this key; here `params` are macros by themselves"
        raise document.error_at(("define",), message)
    if not 0 <= manifest.maxregcount <= _MOST_REGISTERS:
        message = f"maxregcount: {manifest.maxregcount} registers; a thread may have 16 to {_MOST_REGISTERS}"
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
    if name in _PACKAGES:
        return name
    path = follow_links(folder / Path(name).expanduser())
    if not is_folder(path):
        message = f"include: no folder at {display_path(path)}{nearest(name, _PACKAGES)}; known packages: "
        raise document.error_at(("include", index), message + ", ".join(_PACKAGES))
    return str(path)


def _read_flags(document: Document, manifest: Manifest) -> tuple[Flag, ...]:
    sections = SectionReader(document, tuple(manifest.params))
    flags = []
    for index, written in enumerate(manifest.flags):
        fields = written if isinstance(written, FlagFields) else None
        text = fields.flag if fields else str(written)
        if not _ALLOWED.fullmatch(text):
            message = f"flags: '{text}' is not allowed; only flags that change code are, such as {_EXAMPLES}"
            raise document.error_at(("flags", index), message)
        flags.append(Flag(text, sections.read_optional(("flags", index, "when"), fields.when if fields else None)))
    return tuple(flags)


_INTEGER_TYPES = {
    "int": "int",
    "unsigned": "unsigned",
    "long": "long long",
    "size_t": "unsigned long long",
    "short": "short",
    "ushort": "unsigned short",
    "char": "signed char",
    "uchar": "unsigned char",
    "bool": "bool",
}
FLOAT_TYPES = {"float": "float", "double": "double", "half": "__half", "bfloat16": "__nv_bfloat16"}
_TYPES = {**_INTEGER_TYPES, **FLOAT_TYPES}
_CONVERTED = re.compile(rf"({'|'.join(_TYPES)})\s*\((.*)\)$", re.DOTALL)
_STRIDE = re.compile(r"\bstride\(\s*(\w+)\s*\)")
_NUMBER = re.compile(r"[-+]?(\d+\.\d*|\.\d+)f?$")
_MOST = 64
_FUSED = ("D", "bias", "residual", "scale", "offsets", "maps")
"""Operands that a launcher cannot have."""


def read_arguments(document: Document, sections: SectionReader, manifest: Manifest) -> tuple[Argument | Structure, ...]:
    """Read `args`. A launcher may take `stream`. `kinds` allows the count and strides of products, and D.

    `epilogue` allows the operands of its steps. Raises SpecError at the line of the argument.
    """
    written, launcher, kinds = manifest.args, bool(manifest.host), manifest.kinds
    if len(written) > _MOST:
        raise document.error_at(("args",), f"args: {len(written)} arguments are too many; at most {_MOST}")
    operands = (*(name for name in OPERANDS if name not in _FUSED), STREAM) if launcher else OPERANDS
    roles = (*operands, *SCALARS, NULL)
    reader = _ArgumentReader(document, sections, roles, manifest)
    arguments = tuple(reader.read_parameter(index, text, launcher) for index, text in enumerate(written))
    scales = SCALED if has_scales(map(resolve_precision, manifest.precisions)) else ()
    if scales and launcher and not written:
        message = f"precisions: a host function needs `args` for their scales; list all, with {' and '.join(scales)}"
        raise document.error_at(("precisions",), message)
    if written:
        read = () if document.data.get("computes") == "pass" else ("A", "B", "C")
        needed = (*read, "D") if SEPARATE_C in kinds else read or ("C",)
        _check_operands(document, Call(arguments), (*needed, *scales, *([OFFSETS] if GROUPS in kinds else [])))
    return arguments


def _check_operands(document: Document, call: Call, names: Sequence[str]) -> None:
    for name in names:
        if not call.takes(name):
            raise document.error_at(("args",), f"args: no argument is {name}; name every argument of the kernel")


class _ArgumentReader:
    """Reads the arguments of one manifest."""

    def __init__(self, document: Document, sections: SectionReader, roles: Sequence[str], manifest: Manifest):
        self.document, self.sections, self.roles = document, sections, roles
        self.manifest, self.kinds = manifest, manifest.kinds

    def read_parameter(self, index: int, text: ArgumentText, launcher: bool) -> Argument | Structure:
        """Read what is passed to one parameter."""
        path: DocumentPath = ("args", index)
        if not isinstance(text, dict):
            return self.read(path, text)
        if launcher:
            raise self.document.error_at(
                path, "args: a host function cannot take a structure; write a kernel's `symbol`"
            )
        for name, value in text.items():
            if not name.isidentifier() or isinstance(value, dict):
                raise self.document.error_at(path, f"args: write the fields as {{width: M, elements: A}}, not '{name}'")
        return Structure(tuple((name, self.read((*path, name), each)) for name, each in text.items()))

    def read(self, path: DocumentPath, text: str | int | float | None) -> Argument:
        """Read one argument. Raises SpecError."""
        if text is None:
            return Argument(NULL)
        if isinstance(text, float):
            return Argument("", "", text)
        text = self.read_strides(path, str(text).strip())
        if text.startswith("&"):
            return self.read_pointer(path, text[1:].strip())
        if text in self.roles and text not in SCALARS:
            self.check_step(path, text)
            return Argument(text)
        converted = _CONVERTED.match(text)
        kind, inner = (converted[1], converted[2].strip()) if converted else ("", text)
        if inner in SCALARS or _NUMBER.match(inner):
            return self.read_scalar(path, kind, inner)
        if kind in FLOAT_TYPES:
            return Argument("", FLOAT_TYPES[kind], self.read_number(path, inner))
        return Argument("", _INTEGER_TYPES[kind or "int"], self.read_number(path, inner))

    def read_strides(self, path: DocumentPath, text: str) -> str:
        """Replace every `stride(A)` by its name in expressions, and reject what only a batch has."""
        for operand in _STRIDE.findall(text):
            if operand not in "ABC":
                message = f"args: the operand '{operand}' has no products; write stride(A), stride(B) or stride(C)"
                raise self.document.error_at(path, message)
        text = _STRIDE.sub(lambda found: f"stride_{found[1].lower()}", text)
        if SEPARATE_C not in self.kinds and (used := {"D", "ldd"} & set(re.findall(r"\w+", text))):
            message = f"args: {min(used)} belongs to a result apart from C; add `{SEPARATE_C}` to `kinds`, such as "
            raise self.document.error_at(path, message + f"`kinds: [one, {SEPARATE_C}]`")
        if MANY not in self.kinds and (used := set(re.findall(r"\w+", text)) & set(BATCH_NAMES)):
            written = re.sub(r"stride_(\w)", lambda found: f"stride({found[1].upper()})", min(used))
            message = f"args: {written} belongs to a batch; add `kinds: [one, many]` if the kernel takes batches"
            raise self.document.error_at(path, message)
        if GROUPS not in self.kinds and (used := {OFFSETS, *GROUP_NAMES} & set(re.findall(r"\w+", text))):
            message = f"args: {min(used)} belongs to groups; add `kinds: [one, groups]` if the kernel takes groups"
            raise self.document.error_at(path, message)
        return text

    def check_step(self, path: DocumentPath, role: str) -> None:
        """Raise SpecError for the operand of a step that `epilogue` does not name. A bias that is not added is null."""
        if role in EPILOGUE_STEPS and role not in self.manifest.epilogue and role != "bias":
            fix = f"add `epilogue: [{role}]` if the kernel applies it"
            if self.manifest.file:
                fix = "the code of `file` has none, so write null"
            raise self.document.error_at(path, f"args: {role} belongs to an epilogue; {fix}")
        if role in SCALED and not has_scales(map(resolve_precision, self.manifest.precisions)):
            message = f"args: {role} belongs to precisions with scales, such as e4m3_blocks; name one in `precisions`"
            raise self.document.error_at(path, message)

    def read_scalar(self, path: DocumentPath, kind: str, text: str) -> Argument:
        """Read alpha, beta or a constant with a decimal point. Without a type, it has the type of the sums."""
        if kind in _INTEGER_TYPES:
            raise self.document.error_at(path, f"args: {text} is not an integer; write float({text}) or double({text})")
        ctype = FLOAT_TYPES.get(kind, "")
        return Argument(text, ctype) if text in SCALARS else Argument("", ctype, float(text.rstrip("f")))

    def read_pointer(self, path: DocumentPath, name: str) -> Argument:
        """Read a scalar that the kernel reads from device memory."""
        kind = _CONVERTED.match(name)
        role, ctype = (kind[2].strip(), FLOAT_TYPES.get(kind[1], "")) if kind else (name, "")
        if role not in SCALARS:
            raise self.document.error_at(
                path, f"args: '&{name}' is not a scalar passed by pointer; write &alpha or &beta"
            )
        return Argument(role, ctype, by_pointer=True)

    def read_number(self, path: DocumentPath, text: str) -> Expression:
        """Read an expression. Raises SpecError for an argument whose name is unknown."""
        if re.fullmatch(r"[A-Za-z_]\w*", text) and text not in (*self.sections.names, *self.sections.lets):
            known = (*self.roles, *self.sections.names)
            hint = nearest(text, known)
            message = f"args: unknown argument '{text}'{hint}; known: {', '.join(known)}, sizes such as M*K, and null"
            raise self.document.error_at(path, message)
        return self.sections.read_expression(path, text)
