"""The manifest of a kernel file: YAML between `/*---` and `---*/`, first thing in the file.

The format is described in README.md, "Add a kernel".
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from gemmbench.errors import SpecError, nearest
from gemmbench.spec import yamlfile
from gemmbench.spec.expr import DEVICE_NAMES, NETWORK_NAMES, PROBLEM_NAMES, Expression, ExpressionError, parse
from gemmbench.spec.network import MACROS
from gemmbench.spec.paths import shown
from gemmbench.spec.precision import PRECISIONS
from gemmbench.spec.problem import LAYOUTS
from gemmbench.spec.variant import COMPUTES, EPILOGUES, Launch, Values, Variant

_HEADER = re.compile(r"\s*/\*---[ \t]*\n(.*?)^---\*/", re.DOTALL | re.MULTILINE)
_SIGNATURE = ("M", "N", "K", "alpha", "A", "B", "beta", "C", "bias", "workspace", "maps")
_RESERVED = {*_SIGNATURE, *PROBLEM_NAMES, *DEVICE_NAMES, "TA", "TB", "TC", "TACC", "TRANS_A", "TRANS_B"}
_RESERVED |= {*NETWORK_NAMES, *MACROS, *(name.upper() for name in EPILOGUES)}
_PARAMETER = re.compile(r"[A-Z][A-Z0-9_]*$")


class Manifest(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a manifest, as they are written."""

    summary: str
    order: int | float
    symbol: str
    precisions: list[str]
    layouts: list[str]
    grid: list[str | int] = []
    block: list[str | int] = []
    shared: str | int = 0
    min_sm: int = 50
    arch: list[str | int] = []
    params: dict[str, Any] = {}
    require: list[str] = []
    computes: str = "gemm"
    epilogue: list[str] = []
    source: str = ""


def read_variant(path: Path) -> Variant:
    """Read one kernel file. Raises SpecError with the file, the line, the fault and the fix."""
    place = shown(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise SpecError(place, None, f"cannot be read: {fault}") from None
    header = _HEADER.match(text)
    if header is None:
        raise SpecError(place, 1, "no manifest: the file must begin with `/*---`, YAML lines, and `---*/`")
    first_line = text.count("\n", 0, header.start(1)) + 1
    document = yamlfile.load(header[1], place, first_line)
    return _Checker(document, path, text).variant()


class _Checker:
    """Checks one manifest field by field; every fault names its line."""

    def __init__(self, document: yamlfile.Document, path: Path, text: str):
        self.document, self.path, self.text = document, path, text
        self.manifest = document.convert(Manifest)
        self.host = path.suffix == ".cpp"

    def variant(self) -> Variant:
        manifest = self.manifest
        self.one_of("precisions", manifest.precisions, tuple(PRECISIONS))
        self.one_of("layouts", manifest.layouts, LAYOUTS)
        self.one_of("computes", [manifest.computes], COMPUTES)
        if manifest.epilogue:
            self.one_of("epilogue", manifest.epilogue, EPILOGUES)
        self.symbol()
        params = tuple((name, self.values(name)) for name in manifest.params)
        problem = NETWORK_NAMES if manifest.computes == "mlp" else PROBLEM_NAMES
        names = (*manifest.params, *problem, *DEVICE_NAMES)
        return Variant(
            name=self.path.stem,
            summary=manifest.summary,
            order=manifest.order,
            kind="host" if self.host else "cuda",
            devices=("cpu",) if self.host else ("cuda", "cpu"),
            precisions=tuple(manifest.precisions),
            layouts=tuple(manifest.layouts),
            min_sm=0 if self.host else manifest.min_sm,
            arch=tuple(str(name) for name in manifest.arch),
            params=params,
            require=self.expressions("require", manifest.require, names),
            launch=self.launch(names),
            computes=manifest.computes,
            epilogue=tuple(name for name in EPILOGUES if name in manifest.epilogue),
            source=manifest.source,
            path=self.document.place,
            text=self.text,
        )

    def one_of(self, key: str, chosen: list[str], known: tuple[str, ...]) -> None:
        if not chosen:
            raise self.document.fault((key,), f"{key}: empty; choose from {', '.join(known)}")
        for index, name in enumerate(chosen):
            if name not in known:
                hint = nearest(name, known)
                raise self.document.fault((key, index), f"{key}: unknown '{name}'{hint}; known: {', '.join(known)}")

    def symbol(self) -> None:
        qualifier = "" if self.host else r"__global__\b"
        pattern = rf'extern\s+"C"\s+{qualifier}[^;{{]*?\b(\w+)\s*\(\s*int\b'
        defined = re.findall(pattern, self.text)
        wanted = self.manifest.symbol
        if wanted not in defined:
            found = f"it defines {', '.join(defined)}" if defined else "it defines none"
            kernel = "void" if self.host else "__global__ void"
            message = f'symbol: no `extern "C" {kernel} {wanted}(int M, ...)` in this file; {found}'
            raise self.document.fault(("symbol",), message)

    def values(self, name: str) -> Values:
        path = ("params", name)
        if not _PARAMETER.match(name) or name in _RESERVED:
            why = "is taken" if name in _RESERVED else "must be upper-case letters, digits and _"
            raise self.document.fault(path, f"params: the name '{name}' {why}; choose another")
        values = self.manifest.params[name]
        values = values if isinstance(values, list) else [values]
        wrong = [value for value in values if type(value) is not int]
        if wrong or not values:
            raise self.document.fault(path, f"params.{name}: {wrong or values} should be integers, such as [8, 16]")
        if len(set(values)) < len(values):
            raise self.document.fault(path, f"params.{name}: a value stands twice in {values}")
        return tuple(values)

    def launch(self, names: tuple[str, ...]) -> Launch:
        manifest = self.manifest
        for key in ("grid", "block"):
            count = len(getattr(manifest, key))
            if self.host and count:
                raise self.document.fault((key,), f"{key}: a .cpp file is called once, it has no {key}; remove it")
            if not self.host and not 1 <= count <= 3:
                raise self.document.fault((key,), f"{key}: {count} expressions; give 1 to 3, such as `- cdiv(N, BN)`")
        return Launch(
            symbol=manifest.symbol,
            grid=self.expressions("grid", manifest.grid, names),
            block=self.expressions("block", manifest.block, names),
            shared=self.expression(("shared",), manifest.shared, names),
        )

    def expressions(self, key: str, texts: list[Any], names: tuple[str, ...]) -> tuple[Expression, ...]:
        return tuple(self.expression((key, index), text, names) for index, text in enumerate(texts))

    def expression(self, path: yamlfile.Path, text: str | int, names: tuple[str, ...]) -> Expression:
        try:
            return parse(text, names, self.document.line(path))
        except ExpressionError as fault:
            raise self.document.fault(path, f"{path[0]}: {fault}") from None
