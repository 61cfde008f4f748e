"""Reads Python modules: the manifest in the docstring, what the module defines, and how its function is called."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gemmbench.errors import SpecError, nearest
from gemmbench.planning.files import follow_links
from gemmbench.planning.manifests.manifest_model import Manifest
from gemmbench.planning.manifests.variant import DEFAULT_STREAM, GROUPS, MANY, PythonCall, has_scales
from gemmbench.planning.precisions import resolve_precision
from gemmbench.planning.problems import OFFSETS, SCALED
from gemmbench.planning.yaml_document import Document
from gemmbench.planning.yaml_document import Path as DocumentPath

FUNCTION = "gemm"
ARGUMENTS = ("problem", "A", "B", "C", "stream")
"""The arguments with which `gemm` is called. Its parameters follow, passed by name."""
PREPARED = "prepared"
"""The name that the value of `setup` has in `call`."""
LIBRARIES = ("torch", "cupy")
"""The packages whose arrays `call` passes, the first that a module uses."""
_SIZES = ("M", "N", "K", "count", "groups")
_SCALARS = ("alpha", "beta")
SETUP_NAMES = ("B", *_SIZES, "problem", "stream")
"""What `setup` may read besides the parameters and the module. It prepares B, so it must not see A."""
CALL_NAMES = ("A", "B", "C", OFFSETS, *SCALED, *_SCALARS, *_SIZES, "problem", "stream")
"""What `call` may read besides the parameters, `prepared` and the module."""
_AXES = {"A": ("M", "K"), "B": ("K", "N"), "C": ("M", "N")}
_PRODUCTS = "L"


@dataclass(frozen=True)
class PythonModule:
    """The docstring of a module, which begins on line `first_line`, and the module's syntax tree."""

    docstring: str | None
    first_line: int
    tree: ast.Module

    def list_imports(self) -> list[str]:
        """Return the names of the packages that it imports, in order, wherever the import is."""
        found: dict[str, None] = {}
        for node in ast.walk(self.tree):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            found |= dict.fromkeys(name.partition(".")[0] for name in names)
        return list(found)

    def list_packages(self, folder: Path) -> list[str]:
        """Return the packages that it imports, without those of Python and modules in `folder`, next to it."""
        names = (name for name in self.list_imports() if name not in sys.stdlib_module_names)
        return [name for name in names if not (folder / f"{name}.py").exists() and not (folder / name).is_dir()]

    def list_names(self) -> list[str]:
        """Return the names that it defines; with `*` if it imports all names of a module."""
        return list(dict.fromkeys(_list_bound(self.tree.body)))


def _list_bound(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements bind, also those within `if`, `try` and `with`."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (each.asname or each.name.partition(".")[0] for each in node.names)
        else:
            yield from (each.id for each in ast.walk(node) if isinstance(each, ast.Name))
            for part in ("body", "orelse", "finalbody"):
                yield from _list_bound(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from _list_bound(handler.body)


def parse_module(text: str, location: str) -> PythonModule:
    """Parse a module. Raises SpecError."""
    try:
        tree = ast.parse(text)
    except SyntaxError as fault:
        raise SpecError(location, fault.lineno, f"not valid Python: {fault.msg}") from None
    except (ValueError, RecursionError, MemoryError) as fault:
        raise SpecError(location, None, f"not valid Python: {fault or 'nested too deeply'}") from None
    docstring = ast.get_docstring(tree, clean=False)
    return PythonModule(docstring, tree.body[0].lineno if tree.body else 1, tree)


def read_python_call(document: Document, manifest: Manifest, module: PythonModule, folder: Path) -> PythonCall:
    """Read how a function is called. `folder` is that of the manifest. Raises SpecError at the line of the key."""
    reader = _CallReader(document, manifest, module)
    packages = [*manifest.packages, *module.list_imports()]
    library = next((name for name in LIBRARIES if name in packages), "")
    if manifest.returns and not library:
        message = "returns: tensors of PyTorch and arrays of CuPy can be returned; add the one it uses to `packages`"
        raise document.error_at(("returns",), message)
    if not manifest.call:
        reader.refuse_setup()
        reader.refuse_groups()
        reader.refuse_scales()
        _check_function(module, document, tuple(manifest.params))
    reads = reader.read_call() if manifest.call else ()
    return PythonCall(
        call=" ".join(manifest.call.split()),
        setup=" ".join(manifest.setup.split()),
        reads=reads,
        returns=manifest.returns,
        default_stream=manifest.stream == DEFAULT_STREAM,
        views=tuple((name, reader.read_view(name, axes)) for name, axes in manifest.views.items()),
        library=library,
        packages_from=str(follow_links(folder / Path(manifest.packages_from).expanduser()))
        if manifest.packages_from
        else "",
    )


class _CallReader:
    """Reads the expressions of one manifest."""

    def __init__(self, document: Document, manifest: Manifest, module: PythonModule):
        self.document, self.manifest, self.module = document, manifest, module

    def refuse_setup(self) -> None:
        """Raise SpecError for `setup` without `call`."""
        if self.manifest.setup:
            message = f"setup: its value is passed by `call`, which is missing; write `call: f(A, {PREPARED})`"
            raise self.document.error_at(("setup",), message)

    def refuse_groups(self) -> None:
        """Raise SpecError for groups without `call`."""
        if GROUPS in self.manifest.kinds:
            message = f"kinds: a function of groups needs their {OFFSETS}; write `call: f(A, B, C, {OFFSETS})`"
            raise self.document.error_at(("kinds", self.manifest.kinds.index(GROUPS)), message)

    def refuse_scales(self) -> None:
        """Raise SpecError for precisions with scales without `call`."""
        if has_scales(map(resolve_precision, self.manifest.precisions)):
            scales = ", ".join(SCALED)
            message = f"precisions: a function of factors with scales needs these; write `call: f(A, B, C, {scales})`"
            raise self.document.error_at(("precisions",), message)

    def read_call(self) -> tuple[str, ...]:
        """Check `call` and `setup`, and return the names of CALL_NAMES that they read."""
        manifest = self.manifest
        call = self.parse("call", manifest.call)
        self.check_names(("call",), call.func, _SIZES, "the function before the last parenthesis")
        prepared = (PREPARED,) if manifest.setup else ()
        reads = self.check_names(("call",), call, (*CALL_NAMES, *prepared), "call")
        if manifest.setup:
            before = self.check_names(("setup",), self.parse("setup", manifest.setup), SETUP_NAMES, "setup")
            if PREPARED not in reads:
                raise self.document.error_at(("setup",), f"setup: `call` does not read `{PREPARED}`, its value; add it")
            reads |= before
        written = [] if manifest.returns and "beta" not in reads else ["C"]
        scales = SCALED if has_scales(map(resolve_precision, manifest.precisions)) else ()
        for name in ("A", "B", *written, *scales, *([OFFSETS] if GROUPS in manifest.kinds else [])):
            if name not in reads and not (name == OFFSETS and "problem" in reads):
                raise self.document.error_at(("call",), f"call: no argument is {name}{_HINTS.get(name, '')}")
        return tuple(name for name in CALL_NAMES if name in reads)

    def parse(self, key: str, text: str) -> ast.Call:
        """Return the syntax tree of a call."""
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
            words = getattr(fault, "msg", fault) or "nested too deeply"
            raise self.document.error_at((key,), f"{key}: not valid Python: {words}") from None
        if not isinstance(tree, ast.Call):
            raise self.document.error_at((key,), f"{key}: '{text.strip()}' is not a call; write {_EXAMPLES[key]}")
        return tree

    def check_names(self, path: DocumentPath, tree: ast.expr, known: Sequence[str], part: str) -> set[str]:
        """Return the names among `known` that an expression reads. Raises SpecError for names that nothing defines."""
        bound = {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)}
        bound |= {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        read = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)} - bound
        defined = self.module.list_names()
        others = {*known, *self.manifest.params, *defined, *vars(builtins)}
        for name in sorted(read):
            if (name not in others and "*" not in defined) or (name in CALL_NAMES and name not in known):
                why = "is not known" if name not in CALL_NAMES else "cannot be read here"
                hint = nearest(name, [*known, *self.manifest.params, *defined])
                listed = f"{part} may read {', '.join(known)} and what the file defines"
                raise self.document.error_at(path, f"{path[0]}: '{name}' {why}{hint}; {listed}")
        return read & {*known}

    def read_view(self, name: str, axes: object) -> tuple[str, ...]:
        """Check the dimensions of an operand as the function sees them."""
        path = ("views", name)
        if name not in _AXES:
            raise self.document.error_at(path, f"views: unknown operand '{name}'; known: A, B, C")
        wanted = _AXES[name]
        given = tuple(map(str, axes)) if isinstance(axes, list) else ()
        if sorted(given) not in (sorted(wanted), sorted([*wanted, _PRODUCTS])):
            first, second = wanted
            message = f"views.{name}: write its dimensions in the order of the function, such as [{second}, {first}]"
            raise self.document.error_at(path, f"{message} or [{first}, {second}, {_PRODUCTS}]")
        if GROUPS in self.manifest.kinds:
            raise self.document.error_at(path, f"views.{name}: groups are passed as they are stored; remove it")
        if MANY in self.manifest.kinds and _PRODUCTS not in given:
            message = f"views.{name}: a batch has a third dimension; add {_PRODUCTS}, or leave `many` out of `kinds`"
            raise self.document.error_at(path, message)
        return given


_EXAMPLES: Mapping[str, str] = {"call": "call: matmul(A, B)", "setup": "setup: pack(B)"}
_HINTS: Mapping[str, str] = {
    "B": f"; add it, or `{PREPARED}` with a `setup` that reads B",
    "C": "; add it, or write `returns: true` if the function returns the result",
    OFFSETS: "; add it, the first row of each group and last the number of all rows, or `problem` with its `groups`",
}


def _check_function(module: PythonModule, document: Document, params: Sequence[str]) -> None:
    """Raise SpecError unless the module has a `gemm` that takes these parameters."""
    wanted = f"{FUNCTION}({', '.join(ARGUMENTS)}, **params)"
    functions = {each.name: each for each in module.tree.body if isinstance(each, ast.FunctionDef)}
    if FUNCTION not in functions:
        other = ", or name another function with `call`" if functions else ""
        hint = nearest(FUNCTION, functions)
        raise document.error_at((), f"no function `{FUNCTION}`{hint}; define `def {wanted}`{other}")
    function = functions[FUNCTION]
    arguments = function.args
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    if len(positional) < len(ARGUMENTS) and not arguments.vararg:
        taken = ", ".join(positional) or "nothing"
        advice = f"define `def {wanted}`, or describe the call, such as `call: {FUNCTION}({taken})`"
        raise SpecError(document.location, function.lineno, f"`{FUNCTION}` takes {taken}; {advice}")
    by_name = [*positional[len(ARGUMENTS) :], *(each.arg for each in arguments.kwonlyargs)]
    for name in params:
        if name not in by_name and not arguments.kwarg:
            message = f"params.{name}: `{FUNCTION}` has no argument {name}{nearest(name, by_name)}; add it, or **params"
            raise document.error_at(("params", name), message)
