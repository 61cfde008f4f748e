"""The key `args` of a manifest: the arguments of a kernel, in its own order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gemmbench.errors import nearest
from gemmbench.planning.manifests.code.model import NULL, OPERANDS, SCALARS, STREAM, Argument, ArgumentText
from gemmbench.planning.manifests.expressions import Expression
from gemmbench.planning.manifests.sections import SectionReader
from gemmbench.planning.yaml_document import Document, Path

INTEGER_TYPES = {
    "int": "int",
    "unsigned": "unsigned",
    "long": "long long",
    "size_t": "unsigned long long",
}
FLOAT_TYPES = {"float": "float", "double": "double", "half": "__half", "bfloat16": "__nv_bfloat16"}
_TYPES = {**INTEGER_TYPES, **FLOAT_TYPES}
_CONVERTED = re.compile(rf"({'|'.join(_TYPES)})\s*\((.*)\)$", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(\d+\.\d*|\.\d+)f?$")
_MOST = 64
_FUSED = ("bias", "maps")
"""Operands that no launcher has."""


def read_arguments(
    document: Document, sections: SectionReader, written: Sequence[ArgumentText], launcher: bool
) -> tuple[Argument, ...]:
    """Read `args`; a launcher may take `stream`. Raises SpecError at the line of the argument."""
    if len(written) > _MOST:
        raise document.error_at(("args",), f"args: {len(written)} arguments are too many; at most {_MOST}")
    operands = (*(name for name in OPERANDS if name not in _FUSED), STREAM) if launcher else OPERANDS
    roles = (*operands, *SCALARS, NULL)
    reader = _ArgumentReader(document, sections, roles)
    arguments = tuple(reader.read(("args", index), text) for index, text in enumerate(written))
    if written:
        _check_operands(document, arguments)
    return arguments


def _check_operands(document: Document, arguments: Sequence[Argument]) -> None:
    for name in ("A", "B", "C"):
        if not any(argument.role == name for argument in arguments):
            raise document.error_at(("args",), f"args: no argument is {name}; name every argument of the kernel")


class _ArgumentReader:
    """Reads the arguments of one manifest."""

    def __init__(self, document: Document, sections: SectionReader, roles: Sequence[str]):
        self.document, self.sections, self.roles = document, sections, roles

    def read(self, path: Path, text: ArgumentText) -> Argument:
        """Read one argument. Raises SpecError."""
        if text is None:
            return Argument(NULL)
        if isinstance(text, float):
            return Argument("", "", text)
        text = str(text).strip()
        if text.startswith("&"):
            return self.read_pointer(path, text[1:].strip())
        if text in self.roles and text not in SCALARS:
            return Argument(text)
        converted = _CONVERTED.match(text)
        kind, inner = (converted[1], converted[2].strip()) if converted else ("", text)
        if inner in SCALARS or _NUMBER.match(inner):
            return self.read_scalar(path, kind, inner)
        if kind in FLOAT_TYPES:
            return Argument("", FLOAT_TYPES[kind], self.read_number(path, inner))
        return Argument("", INTEGER_TYPES[kind or "int"], self.read_number(path, inner))

    def read_scalar(self, path: Path, kind: str, text: str) -> Argument:
        """Read alpha, beta or a constant with a point, whose type is that of the sums unless it is given."""
        if kind in INTEGER_TYPES:
            raise self.document.error_at(path, f"args: {text} is not an integer; write float({text}) or double({text})")
        ctype = FLOAT_TYPES.get(kind, "")
        return Argument(text, ctype) if text in SCALARS else Argument("", ctype, float(text.rstrip("f")))

    def read_pointer(self, path: Path, name: str) -> Argument:
        """Read a scalar that the kernel reads from device memory."""
        kind = _CONVERTED.match(name)
        role, ctype = (kind[2].strip(), FLOAT_TYPES.get(kind[1], "")) if kind else (name, "")
        if role not in SCALARS:
            raise self.document.error_at(path, f"args: '&{name}' is not a scalar by pointer; write &alpha or &beta")
        return Argument(role, ctype, by_pointer=True)

    def read_number(self, path: Path, text: str) -> Expression:
        """Read an expression; a name that means nothing is an argument of unknown role."""
        if re.fullmatch(r"[A-Za-z_]\w*", text) and text not in (*self.sections.names, *self.sections.lets):
            known = (*self.roles, *self.sections.names)
            hint = nearest(text, known)
            message = f"args: unknown argument '{text}'{hint}; known: {', '.join(known)}, sizes such as M*K, and null"
            raise self.document.error_at(path, message)
        return self.sections.read_expression(path, text)
