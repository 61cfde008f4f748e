"""The manifest of a kernel file: YAML between `/*---` and `---*/` at the top of the file.

docs/reference/manifest.md describes the format.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections import Counter
from pathlib import Path

from gemmbench.errors import SpecError, at_line, nearest
from gemmbench.planning.bounds import check_configurations
from gemmbench.planning.manifests.expressions import (
    DEVICE_NAMES,
    NETWORK_NAMES,
    PROBLEM_NAMES,
    SASS_NAMES,
    Expression,
)
from gemmbench.planning.manifests.manifest_model import Manifest
from gemmbench.planning.manifests.named_expressions import read_lets
from gemmbench.planning.manifests.sections import LaunchFields, SectionReader
from gemmbench.planning.manifests.variant import COMPUTES, EPILOGUES, Launch, TensorMap, Values, Variant
from gemmbench.planning.networks.network import MACROS
from gemmbench.planning.paths import display_path, printable
from gemmbench.planning.problems.precision import PRECISIONS
from gemmbench.planning.problems.problem import LAYOUTS
from gemmbench.planning.problems.product_classes import CLASSES
from gemmbench.planning.text_file import read_text_file
from gemmbench.planning.yaml_document import Document, parse_document
from gemmbench.planning.yaml_document import Path as DocumentPath

_HEADER = re.compile(r"\s*/\*---[ \t]*\n(.*?)^---\*/", re.DOTALL | re.MULTILINE)
_SIGNATURE = ("M", "N", "K", "alpha", "A", "B", "beta", "C", "bias", "workspace", "maps")
_RESERVED = {*_SIGNATURE, *PROBLEM_NAMES, *DEVICE_NAMES, "TA", "TB", "TC", "TACC", "TRANS_A", "TRANS_B"}
_RESERVED |= {*NETWORK_NAMES, *MACROS, *(name.upper() for name in EPILOGUES)}
_PARAMETER = re.compile(r"[A-Z][A-Z0-9_]*$")
_ONE_LAUNCH = ("symbol", "grid", "block", "shared")
_FIRST_TMA = 90  # compute capability
_SCRATCH = ("zeroed", "state")
_OPTIONAL = ("workspace", *_SCRATCH, "tensor_maps", "launches", "pick")
_CODE = (*_ONE_LAUNCH, *_OPTIONAL[:-1], "params", "require", "epilogue", "class", "sass")


def read_variant(path: Path) -> Variant:
    """Read a kernel file. Raises SpecError with the file, the line, the fault and the fix."""
    location = display_path(path)
    if path.stem != printable(path.stem):
        raise SpecError(location, None, "the name of a kernel must be printable UTF-8; rename the file")
    text = read_text_file(path)
    header = _HEADER.match(text)
    if header is None:
        raise SpecError(location, 1, "no manifest: the file must begin with `/*---`, YAML lines, and `---*/`")
    first_line = text.count("\n", 0, header.start(1)) + 1
    document = parse_document(header[1], location, first_line)
    return _ManifestReader(document, path, text).read()


class _ManifestReader:
    """Checks the keys of one manifest and builds its variant; every error names its line."""

    def __init__(self, document: Document, path: Path, text: str):
        self.document, self.path, self.text = document, path, text
        self.manifest = document.convert(Manifest)
        self.host = path.suffix == ".cpp"

    def read(self) -> Variant:
        """Return the variant. Raises SpecError."""
        self.check_keys()
        manifest = self.manifest
        params = tuple((name, self.read_values(name)) for name in manifest.params)
        with at_line(self.document.location, self.document.line(("params",))):
            check_configurations("params", math.prod(len(values) for _, values in params))
        problem = NETWORK_NAMES if manifest.computes == "mlp" else PROBLEM_NAMES
        names = (*manifest.params, *problem, *DEVICE_NAMES)
        sections = SectionReader(self.document, names, read_lets(self.document, manifest.let, names))
        variant = self.build_variant(sections, params)
        sections.refuse_unused_lets()
        return variant

    def build_variant(self, sections: SectionReader, params: tuple[tuple[str, Values], ...]) -> Variant:
        """Return the variant, its keys checked one by one."""
        manifest, launches = self.manifest, self.read_launches(sections)
        min_sm = max(manifest.min_sm, _FIRST_TMA * bool(manifest.tensor_maps))
        return Variant(
            name=self.path.stem,
            summary=manifest.summary,
            order=manifest.order,
            kind="host" if self.host else "kernel",
            devices=("cpu",) if self.host else ("cuda", "cpu"),
            precisions=tuple(manifest.precisions),
            layouts=tuple(manifest.layouts),
            min_sm=0 if self.host else min_sm,
            arch=tuple(str(name) for name in manifest.arch),
            params=params,
            require=sections.read_expressions(("require",), manifest.require),
            launch=launches[-1] if launches else None,
            before=launches[:-1],
            workspace=sections.read_optional(("workspace",), manifest.workspace),
            zeroed=sections.read_optional(("zeroed",), manifest.zeroed),
            state=manifest.state,
            deterministic=manifest.deterministic,
            tile=self.read_tile(sections),
            tensor_maps=self.read_tensor_maps(sections),
            picks=sections.read_picks(manifest.pick),
            sass=SectionReader(self.document, (*manifest.params, *SASS_NAMES)).read_expressions(
                ("sass",), manifest.sass
            ),
            computes=manifest.computes,
            product_class=manifest.product_class,
            epilogue=tuple(name for name in EPILOGUES if name in manifest.epilogue),
            source=manifest.source,
            path=self.document.location,
            text=self.text,
        )

    def check_keys(self) -> None:
        """Raise SpecError for unknown words, and for keys that exclude each other."""
        manifest = self.manifest
        self.check_words("precisions", manifest.precisions, tuple(PRECISIONS))
        self.check_words("layouts", manifest.layouts, LAYOUTS)
        self.check_words("computes", [manifest.computes], COMPUTES)
        if manifest.product_class:
            self.check_words("class", [manifest.product_class], tuple(CLASSES))
        if manifest.epilogue:
            self.check_words("epilogue", manifest.epilogue, EPILOGUES)
        self.check_combinations()

    def check_words(self, key: str, chosen: list[str], known: tuple[str, ...]) -> None:
        if not chosen:
            raise self.document.error_at((key,), f"{key}: empty; choose from {', '.join(known)}")
        for index, name in enumerate(chosen):
            if name not in known:
                hint = nearest(name, known)
                raise self.document.error_at((key, index), f"{key}: unknown '{name}'{hint}; known: {', '.join(known)}")

    def check_combinations(self) -> None:
        """Raise SpecError for keys that exclude each other, and for a missing symbol."""
        if self.host:
            for key in (*_OPTIONAL, "grid", "block", "sass"):
                if getattr(self.manifest, key):
                    message = f"{key}: a .cpp file has no {key}, because it is one host function; remove it"
                    raise self.document.error_at((key,), message)
        if self.manifest.computes != "gemm":
            self.refuse_keys(f"computes: {self.manifest.computes}", _OPTIONAL)
        if self.manifest.workspace is None:
            self.refuse_orphans()
        if self.manifest.pick:
            self.refuse_keys("pick", _CODE)
        elif self.manifest.launches:
            self.refuse_keys("launches", _ONE_LAUNCH)
        elif not self.manifest.symbol:
            raise self.document.error_at((), 'missing key `symbol`: the `extern "C"` name of the kernel')

    def refuse_keys(self, present: str, keys: tuple[str, ...]) -> None:
        for key in keys:
            if (key,) in self.document.lines:
                raise self.document.error_at((key,), f"{key}: cannot be combined with `{present}`; remove it")

    def refuse_orphans(self) -> None:
        """Raise SpecError for a key that describes a workspace where there is none."""
        for key in _SCRATCH:
            if (key,) in self.document.lines:
                message = f"{key}: there is no workspace; declare `workspace: <bytes>`"
                raise self.document.error_at((key,), message)

    def check_symbol(self, path: DocumentPath, wanted: str) -> None:
        qualifier = "" if self.host else r"__global__\b"
        pattern = rf'extern\s+"C"\s+{qualifier}[^;{{]{{0,1000}}?\b(\w+)\s*\(\s*int\b'
        defined = re.findall(pattern, self.text)
        if wanted not in defined:
            contents = f"it defines {', '.join(defined)}" if defined else "it defines none"
            kernel = "void" if self.host else "__global__ void"
            message = f'symbol: no `extern "C" {kernel} {wanted}(int M, ...)` in this file; {contents}'
            raise self.document.error_at(path, message)

    def read_values(self, name: str) -> Values:
        path = ("params", name)
        if not _PARAMETER.match(name) or name in _RESERVED:
            why = "is taken" if name in _RESERVED else "must be upper-case letters, digits and _"
            raise self.document.error_at(path, f"params: the name '{name}' {why}; choose another")
        values = self.manifest.params[name]
        values = values if isinstance(values, list) else [values]
        wrong = [value for value in values if type(value) is not int]
        if wrong or not values:
            raise self.document.error_at(
                path, f"params.{name}: {reprlib.repr(wrong or values)} should be integers, such as [8, 16]"
            )
        if len(set(values)) < len(values):
            duplicate = Counter(values).most_common(1)[0][0]
            raise self.document.error_at(path, f"params.{name}: duplicate value {duplicate} in {reprlib.repr(values)}")
        return tuple(values)

    def read_launches(self, sections: SectionReader) -> tuple[Launch, ...]:
        """Return what the file launches, in order; nothing if it dispatches."""
        manifest = self.manifest
        if manifest.pick:
            return ()
        if manifest.launches:
            for index, launch in enumerate(manifest.launches):
                self.check_symbol(("launches", index, "symbol"), launch.symbol)
            return tuple(
                sections.read_launch(("launches", index), each) for index, each in enumerate(manifest.launches)
            )
        self.check_symbol(("symbol",), manifest.symbol)
        if self.host:
            return (Launch(manifest.symbol, (), (), sections.read_expression(("shared",), manifest.shared)),)
        return (
            sections.read_launch((), LaunchFields(manifest.symbol, manifest.grid, manifest.block, manifest.shared)),
        )

    def read_tile(self, sections: SectionReader) -> tuple[Expression, ...]:
        """Return the rows and columns of the tile of C, if the manifest declares it."""
        tile = self.manifest.tile
        if len(tile) not in (0, 2):
            message = f"tile: {len(tile)} numbers; write the rows and columns of the tile of C, such as [BM, BN]"
            raise self.document.error_at(("tile",), message)
        return sections.read_expressions(("tile",), [str(text) for text in tile])

    def read_tensor_maps(self, sections: SectionReader) -> tuple[TensorMap, ...]:
        workspace = self.manifest.workspace is not None
        return tuple(
            sections.read_tensor_map(index, each, workspace) for index, each in enumerate(self.manifest.tensor_maps)
        )
