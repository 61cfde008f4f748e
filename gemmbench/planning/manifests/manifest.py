"""Builds a variant from the keys of a manifest.

docs/reference/manifest.md describes the format.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

from gemmbench.errors import at_line, nearest
from gemmbench.planning.epilogues import is_smooth
from gemmbench.planning.manifests.code_keys import read_arguments, read_code
from gemmbench.planning.manifests.expressions import (
    ACCESS_NAMES,
    BATCH_NAMES,
    DEVICE_NAMES,
    GROUP_NAMES,
    NETWORK_NAMES,
    PROBLEM_NAMES,
    SASS_NAMES,
    Expression,
)
from gemmbench.planning.manifests.kernel_code import (
    has_includes,
    is_unmangled,
    list_kernels,
    list_standard_kernels,
    may_define,
    split_template,
)
from gemmbench.planning.manifests.manifest_model import HostFields, Manifest
from gemmbench.planning.manifests.python_code import PythonModule, read_python_call
from gemmbench.planning.manifests.sections import LaunchFields, SectionReader, read_lets
from gemmbench.planning.manifests.variant import (
    COMPUTES,
    DEFAULT_STREAM,
    EPILOGUES,
    GROUPS,
    KINDS,
    MANY,
    ONE,
    SEPARATE_C,
    STORAGES,
    Call,
    Launch,
    PythonCall,
    TensorMap,
    Values,
    Variant,
    has_scales,
)
from gemmbench.planning.networks import MACROS
from gemmbench.planning.precisions import CLASSES, PER_TENSOR, PRECISIONS, resolve_precision
from gemmbench.planning.problems import LAYOUTS, SCALED
from gemmbench.planning.sizes import check_configurations
from gemmbench.planning.yaml_document import Document
from gemmbench.planning.yaml_document import Path as DocumentPath

_SIGNATURE = ("M", "N", "K", "alpha", "A", "B", "beta", "C", "bias", *SCALED, "offsets", "workspace", "maps")
_RESERVED = {
    *_SIGNATURE,
    *PROBLEM_NAMES,
    *DEVICE_NAMES,
    "TA",
    "TB",
    "TC",
    "TACC",
    "TRANS_A",
    "TRANS_B",
    "MANY",
    "GROUPS",
    *PER_TENSOR.list_macros(),
}
_RESERVED |= {*NETWORK_NAMES, *MACROS, *(name.upper() for name in EPILOGUES)}
_PARAMETER = re.compile(r"[A-Z][A-Z0-9_]*$")
_ONE_LAUNCH = ("symbol", "grid", "block", "shared", "pdl", "cluster")
_FIRST_TMA = 90  # compute capability
_MOST_APPROX = 2.0**-6
_COMPILED = ("file", "define", "include", "flags", "maxregcount")
_CALLED = ("args", "storage", "reads_c", "host")
_SCRATCH = ("zeroed", "state")
_LIMITS = ("sass", "accesses")
_CUDA = ("grid", "block", "pdl", "cluster", *_LIMITS, *_COMPILED, *_CALLED)
_LAUNCHED = (*_ONE_LAUNCH, "launches", "tensor_maps", "maps_by_value", *_LIMITS, "epilogue", "approx")
_DEVICES = {"kernel": ("cuda", "cpu"), "host": ("cpu",), "launcher": ("cuda",), "python": ("cuda",)}
_OPTIONAL = ("workspace", *_SCRATCH, "tensor_maps", "launches", "pick")
_ONLY_PYTHON = ("packages", "packages_from", "call", "setup", "returns", "stream", "views")
_NOT_PYTHON = (
    *_OPTIONAL,
    *_ONE_LAUNCH,
    *_COMPILED[1:],
    "args",
    "storage",
    "host",
    "epilogue",
    "approx",
    *_LIMITS,
    "computes",
)
_EXACTNESS = ("epilogue", "approx", "class")
_CODE = (*_ONE_LAUNCH, *_OPTIONAL[:-1], "params", "require", *_EXACTNESS, *_LIMITS, *_COMPILED, *_CALLED)


class ManifestReader:
    """Checks the keys of one manifest and builds its variant. Every error names its line."""

    def __init__(self, document: Document, path: Path, code: Path, text: str, module: PythonModule | None = None):
        """`path` is the file of the manifest, `code` is the file of the code, and `text` is its content."""
        self.document, self.path, self.code, self.text, self.module = document, path, code, text, module
        self.manifest = document.convert(Manifest)
        self.host = code.suffix == ".cpp" and not self.manifest.file

    def read(self) -> Variant:
        """Return the variant. Raises SpecError."""
        self.check_keys()
        manifest = self.manifest
        params = tuple((name, self.read_values(name)) for name in manifest.params)
        with at_line(self.document.location, self.document.line(("params",))):
            check_configurations("params", math.prod(len(values) for _, values in params))
        problem = NETWORK_NAMES if manifest.computes == "mlp" else PROBLEM_NAMES
        several = (*BATCH_NAMES * (MANY in manifest.kinds), *GROUP_NAMES * (GROUPS in manifest.kinds))
        names = (*manifest.params, *problem, *several, *DEVICE_NAMES)
        sections = SectionReader(self.document, names, read_lets(self.document, manifest.let, names))
        variant = self.build_variant(sections, params)
        sections.refuse_unused_lets()
        return variant

    def build_variant(self, sections: SectionReader, params: tuple[tuple[str, Values], ...]) -> Variant:
        """Return the variant after checking its keys one by one."""
        manifest, launches = self.manifest, self.read_launches(sections)
        return Variant(
            name=self.path.stem,
            summary=manifest.summary,
            order=manifest.order,
            kind=self.kind,
            devices=_DEVICES[self.kind],
            precisions=tuple(dict.fromkeys(map(resolve_precision, manifest.precisions))),
            layouts=self.list_layouts(),
            kinds=tuple(kind for kind in KINDS if kind in manifest.kinds),
            min_sm=0 if self.host else self.min_sm,
            arch=tuple(str(name) for name in manifest.arch),
            params=params,
            require=sections.read_expressions(("require",), manifest.require),
            launch=launches[-1] if launches else None,
            before=launches[:-1],
            workspace=self.read_workspace(sections),
            zeroed=sections.read_optional(("zeroed",), manifest.zeroed),
            state=manifest.state,
            deterministic=manifest.deterministic,
            tile=self.read_tile(sections),
            tensor_maps=self.read_tensor_maps(sections),
            maps_by_value=self.manifest.maps_by_value,
            picks=sections.read_picks(manifest.pick, manifest.estimates, manifest.costs, manifest.shared_costs),
            sass=SectionReader(self.document, (*manifest.params, *SASS_NAMES)).read_expressions(
                ("sass",), manifest.sass
            ),
            accesses=SectionReader(self.document, (*manifest.params, *ACCESS_NAMES)).read_expressions(
                ("accesses",), manifest.accesses
            ),
            computes=manifest.computes,
            product_class=manifest.product_class,
            packages=tuple(manifest.packages),
            epilogue=tuple(manifest.epilogue),
            approx=self.read_approx(),
            source=manifest.source,
            path=self.document.location,
            text=self.text,
            code=read_code(self.document, manifest, sections, self.code, self.path.parent),
            call=self.read_call(sections),
            python=self.read_python_call(),
        )

    @property
    def min_sm(self) -> int:
        """The lowest compute capability that can run it, according to `min_sm` and to the features it uses."""
        return max(self.manifest.min_sm, _FIRST_TMA * bool(self.manifest.tensor_maps))

    @property
    def kind(self) -> str:
        """The kind of the variant."""
        if self.module is not None:
            return "python"
        return "launcher" if self.manifest.host else "host" if self.host else "kernel"

    def list_layouts(self) -> tuple[str, ...]:
        """The layouts of row-major operands. In a column-major manifest, they are the layouts that the kernel uses."""
        layouts = dict.fromkeys(layout.lower() for layout in self.manifest.layouts)
        return tuple(layout[::-1] for layout in layouts) if self.manifest.storage == "column" else tuple(layouts)

    def read_workspace(self, sections: SectionReader) -> Expression | None:
        """Return the bytes of the workspace; None if there is none or a host function returns them."""
        written = self.manifest.workspace
        return None if isinstance(written, HostFields) else sections.read_optional(("workspace",), written)

    def read_approx(self) -> float:
        """Return how far the factor of an activation may be off; 0 if the manifest declares nothing."""
        if ("approx",) not in self.document.lines:
            return 0.0
        if not any(map(is_smooth, self.manifest.epilogue)):
            message = "approx: no gelu, gelu_tanh or silu in `epilogue` could be approximated; remove it"
            raise self.document.error_at(("approx",), message)
        power = re.fullmatch(r"2\^-(\d{1,2})", written := str(self.manifest.approx).strip())
        try:
            value = 2.0 ** -int(power[1]) if power else float(written)
        except ValueError:
            value = math.nan
        if not 0 < value <= _MOST_APPROX:
            message = f"approx: '{written}' is not between 0 and 2^-6; write the largest error, such as 2^-11"
            raise self.document.error_at(("approx",), message)
        return value

    def read_call(self, sections: SectionReader) -> Call:
        """Return how the kernels are called."""
        manifest, workspace = self.manifest, self.manifest.workspace
        return Call(
            args=read_arguments(self.document, sections, manifest),
            column_major=manifest.storage == "column",
            reads_c=manifest.reads_c,
            host=manifest.host,
            host_workspace=workspace.host if isinstance(workspace, HostFields) else "",
            line=self.document.line(("args",)) if manifest.args else 0,
        )

    def read_python_call(self) -> PythonCall:
        """Return how the function of a Python module is called."""
        if self.module is None:
            return PythonCall()
        return read_python_call(self.document, self.manifest, self.module, self.path.parent)

    def check_keys(self) -> None:
        """Raise SpecError for unknown words, and for keys that exclude each other."""
        manifest = self.manifest
        self.check_words("precisions", [resolve_precision(name) for name in manifest.precisions], tuple(PRECISIONS))
        self.check_words("layouts", [layout.lower() for layout in manifest.layouts], LAYOUTS)
        self.check_words("kinds", manifest.kinds, KINDS)
        if not {ONE, MANY, GROUPS} & set(manifest.kinds):
            message = f"kinds: needs `one`, `many` or `groups` besides {', '.join(manifest.kinds)}; add one"
            raise self.document.error_at(("kinds",), message)
        if GROUPS in manifest.kinds:
            self.check_groups()
        if ONE not in manifest.kinds:
            self.check_one_product()
        self.check_words("computes", [manifest.computes], COMPUTES)
        if manifest.product_class:
            self.check_words("class", [manifest.product_class], tuple(CLASSES))
        if manifest.epilogue:
            self.check_words("epilogue", manifest.epilogue, EPILOGUES)
            for index, name in enumerate(manifest.epilogue):
                if name in manifest.epilogue[:index]:
                    raise self.document.error_at(("epilogue", index), f"epilogue: {name} occurs twice; name it once")
        self.check_words("storage", [manifest.storage], STORAGES)
        if manifest.stream:
            self.check_words("stream", [manifest.stream], (DEFAULT_STREAM,))
        self.check_combinations()

    def check_groups(self) -> None:
        """Raise SpecError for a kernel of groups whose matrices or layouts have no contiguous rows of A."""
        at, layouts = ("kinds", self.manifest.kinds.index(GROUPS)), [each.lower() for each in self.manifest.layouts]
        if self.manifest.storage == "column":
            raise self.document.error_at(at, "kinds: groups are rows of row-major matrices; remove `storage: column`")
        others = {ONE, MANY} & set(self.manifest.kinds)
        if not (any if others else all)(layout.startswith("n") for layout in layouts):
            message = f"kinds: each group has whole rows of A, unlike in {', '.join(layouts)}; add the layout nn or nt"
            raise self.document.error_at(at, message if others else message.replace("add", "declare only"))

    def check_one_product(self) -> None:
        """Raise SpecError for a precision with scales, which belong to one product, of a kernel that takes none."""
        for index, name in enumerate(self.manifest.precisions):
            if has_scales([resolve_precision(name)]):
                message = f"precisions: {name} has scales of one product; add `one` to `kinds`, or remove {name}"
                raise self.document.error_at(("precisions", index), message)

    def check_words(self, key: str, chosen: list[str], known: tuple[str, ...]) -> None:
        if not chosen:
            raise self.document.error_at((key,), f"{key}: empty; choose from {', '.join(known)}")
        for index, name in enumerate(chosen):
            if name not in known:
                hint = nearest(name, known)
                raise self.document.error_at((key, index), f"{key}: unknown '{name}'{hint}; known: {', '.join(known)}")

    def check_combinations(self) -> None:
        """Raise SpecError for keys that exclude each other and for a missing symbol."""
        if self.host:
            for key in (*_OPTIONAL, *_CUDA):
                if (key,) in self.document.lines:
                    message = f"{key}: a .cpp file has no {key}, because it contains one host function; remove it"
                    raise self.document.error_at((key,), message)
        for key in _ONLY_PYTHON if self.module is None else ():
            if (key,) in self.document.lines:
                raise self.document.error_at((key,), f"{key}: only a Python function has {key}; remove it")
        if self.manifest.computes == "mlp":
            self.refuse_keys(f"computes: {self.manifest.computes}", (*_OPTIONAL, *_CALLED))
        if self.manifest.file and self.module is None:
            self.refuse_keys("file", ("epilogue", "approx"))  # no macro tells that code which one a launch wants
        if self.manifest.workspace is None:
            self.refuse_orphans()
        if self.module is not None:
            self.check_module()
        elif self.manifest.pick:
            self.refuse_keys("pick", _CODE)
        elif self.manifest.host:
            self.refuse_keys("host", _LAUNCHED)
            for kind, what in ((SEPARATE_C, "a D"), (GROUPS, "offsets")):
                if kind in self.manifest.kinds:
                    at = ("kinds", self.manifest.kinds.index(kind))
                    raise self.document.error_at(at, f"kinds: a host function cannot take {what}; remove {kind}")
        elif isinstance(self.manifest.workspace, HostFields):
            message = "workspace: only a manifest with `host` may have a function here; write the bytes"
            raise self.document.error_at(("workspace",), message)
        elif self.manifest.launches:
            self.refuse_keys("launches", _ONE_LAUNCH)
        elif not self.manifest.symbol:
            raise self.document.error_at((), "missing key `symbol`: the name of the kernel")

    def check_module(self) -> None:
        """Raise SpecError for keys that a Python function cannot have."""
        for key in _NOT_PYTHON:
            if (key,) in self.document.lines:
                message = f"{key}: a .py file has no {key}, because its function launches by itself; remove it"
                raise self.document.error_at((key,), message)
        for index, kind in enumerate(self.manifest.kinds):
            if kind not in (ONE, MANY, GROUPS):
                message = f"kinds: a Python function takes packed rows and no D; remove {kind}"
                raise self.document.error_at(("kinds", index), message)

    def refuse_keys(self, present: str, keys: tuple[str, ...]) -> None:
        for key in keys:
            if (key,) in self.document.lines:
                raise self.document.error_at((key,), f"{key}: cannot be combined with `{present}`; remove it")

    def refuse_orphans(self) -> None:
        """Raise SpecError for a key that describes a workspace if the manifest declares no workspace."""
        for key in _SCRATCH:
            if (key,) in self.document.lines:
                message = f"{key}: there is no workspace; declare `workspace: <bytes>`"
                raise self.document.error_at((key,), message)

    def check_symbol(self, path: DocumentPath, symbol: str) -> None:
        """Raise SpecError for a kernel that the text cannot define: no macro names it, and there are no includes."""
        wanted = split_template(symbol)[0].rpartition("::")[2]
        standard = list_standard_kernels(self.text, self.host)
        if wanted in standard or (self.manifest.file and has_includes(self.text)):
            return
        kernels = list_kernels(self.text)
        if wanted in kernels and not self.host:
            if not self.manifest.args:
                message = f"symbol: {wanted} does not have the standard arguments; list its arguments under `args`"
                raise self.document.error_at(path, message)
            return
        if not self.host and may_define(self.text, wanted):
            return
        defined = kernels or standard
        contents = f"it defines {', '.join(defined)}" if defined else "it defines none"
        signature = f'`extern "C" void {wanted}(int M, ...)`' if self.host else f"`__global__ void {wanted}(...)`"
        raise self.document.error_at(path, f"symbol: no {signature} in {self.code.name}; {contents}")

    def mark_mangled(self, launch: Launch) -> Launch:
        """Record whether the kernel has another name in machine code."""
        plain = not launch.template and is_unmangled(self.text, launch.symbol)
        return replace(launch, mangled=not plain)

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
        """Return the launches of the file in order; none if it dispatches."""
        manifest = self.manifest
        if manifest.pick or manifest.host or self.module is not None:
            return ()
        if manifest.launches:
            for index, launch in enumerate(manifest.launches):
                self.check_symbol(("launches", index, "symbol"), launch.symbol)
            return tuple(
                self.mark_mangled(sections.read_launch(("launches", index), each))
                for index, each in enumerate(manifest.launches)
            )
        self.check_symbol(("symbol",), manifest.symbol)
        if self.host:
            return (Launch(manifest.symbol, (), (), sections.read_expression(("shared",), manifest.shared)),)
        written = LaunchFields(**{key: getattr(manifest, key) for key in _ONE_LAUNCH})
        return (self.mark_mangled(sections.read_launch((), written)),)

    def read_tile(self, sections: SectionReader) -> tuple[Expression, ...]:
        """Return the rows and columns of the tile of C if the manifest declares them."""
        tile = self.manifest.tile
        if len(tile) not in (0, 2):
            message = f"tile: {len(tile)} numbers; write the rows and columns of the tile of C, such as [BM, BN]"
            raise self.document.error_at(("tile",), message)
        return sections.read_expressions(("tile",), [str(text) for text in tile])

    def read_tensor_maps(self, sections: SectionReader) -> tuple[TensorMap, ...]:
        workspace = self.manifest.workspace is not None
        if self.manifest.maps_by_value and not self.manifest.tensor_maps:
            raise self.document.error_at(("maps_by_value",), "maps_by_value: there are no `tensor_maps`; remove it")
        if self.manifest.maps_by_value and "maps" in self.manifest.args:
            message = "args: maps that are passed by value follow the other arguments; remove `maps`"
            raise self.document.error_at(("args",), message)
        return tuple(
            sections.read_tensor_map(index, each, workspace) for index, each in enumerate(self.manifest.tensor_maps)
        )
