"""Runs the modules of Python variants, with their own folder of packages, and explains what they raise."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from gemmbench.backends.code_cache import content_key
from gemmbench.backends.cuda.driver import to_plan_error
from gemmbench.backends.sources import find_pip_line, find_source_path, list_package_paths
from gemmbench.errors import DeviceLost, LaunchError, NotOffered, OutOfMemory, PlanError
from gemmbench.planning.manifests.variant import Variant

_PACKAGE = __name__.partition(".")[0]

_ADVICE_OF_TORCH = "CUDA kernel errors might be asynchronously reported"
"""The first words of the advice that PyTorch appends to every CUDA error."""


def load_module(variant: Variant) -> ModuleType:
    """Run the module of a variant, once. Raises PlanError.

    The plan's text is run, even if the file has changed since.
    """
    name = _name_module(variant)
    if name not in sys.modules:
        with explain_errors(variant), _keep_own_code(variant):
            _import_packages_from(variant)
            sys.modules[name] = _run_module(name, variant)
            _check_origins(variant)
    return sys.modules[name]


def forget_module(variant: Variant) -> None:
    """Release a module and everything that it keeps, once none of its functions is in use."""
    sys.modules.pop(_name_module(variant), None)


@contextmanager
def _keep_own_code(variant: Variant) -> Iterator[None]:
    """Restore functions and classes of gemmbench that the `with` block replaces, such as its timer.

    Raises LaunchError if it replaces any, because the rows of a batch share them.
    """
    before = [(owner, name, value) for owner in _list_own_code() for name, value in list(vars(owner).items())]
    changed = []
    try:
        yield
    finally:
        for owner, name, value in before:
            if _is_code(value) and vars(owner).get(name) is not value:
                setattr(owner, name, value)
                changed.append(f"{owner.__name__}.{name}")
    if changed:
        sys.modules.pop(_name_module(variant), None)
        raise LaunchError(f"{variant.path} replaces {changed[0]} of gemmbench, which its rows share; do not change it")


def _list_own_code() -> Iterator[ModuleType | type]:
    """Yield the loaded modules of gemmbench and their classes."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE:
            yield module
            yield from (each for each in vars(module).values() if isinstance(each, type) and each.__module__ == name)


def _is_code(value: object) -> bool:
    return callable(value) or hasattr(value, "__get__")


def _name_module(variant: Variant) -> str:
    return f"gemmbench_variant_{content_key([variant.path, variant.text])}"


def _run_module(name: str, variant: Variant) -> ModuleType:
    """Run the text. It is also put into linecache, through which Triton reads the source of a function."""
    path = find_source_path(variant)
    code = compile(variant.text, path, "exec")
    linecache.cache[path] = len(variant.text), None, variant.text.splitlines(keepends=True), path
    module = ModuleType(name)
    module.__file__ = variant.code.file
    sys.modules[name] = module  # dataclasses and Triton look up classes and functions in their module
    try:
        with _import_from(str(Path(module.__file__).parent)), _provide_task():
            exec(code, module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def _import_from(folder: str) -> Iterator[None]:
    """Also find modules next to the variant, after all other places."""
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


_TASK, _TYPES_OF_TASK = "task", ("input_t", "output_t")


@contextmanager
def _provide_task() -> Iterator[None]:
    """Provide the types that submissions to GPU MODE import from the module `task`, unless there is such a module."""
    if _TASK in sys.modules or find_spec(_TASK) is not None:
        yield
        return
    sys.modules[_TASK] = task = ModuleType(_TASK)
    task.__dict__.update(dict.fromkeys(_TYPES_OF_TASK, object))
    try:
        yield
    finally:
        sys.modules.pop(_TASK, None)


_folders: list[str] = []
"""The folder of packages that this process uses, if any."""


def _import_packages_from(variant: Variant) -> None:
    """Put a variant's folder of packages before all other places.

    It stays there, because functions may import more when they are called. Raises NotOffered if another folder is in
    use, because a process cannot have a package twice.
    """
    folder = variant.python.packages_from
    if not folder or folder in _folders:
        return
    if _folders:
        raise NotOffered(f"another kernel of this run imports its packages from {_folders[0]}; {_RUN_ALONE}")
    sys.path[:0] = list_package_paths(folder)
    _folders.append(folder)


_RUN_ALONE = "a process cannot have a package twice, so run this kernel in a run of its own"


def _check_origins(variant: Variant) -> None:
    """Raise NotOffered if a package was loaded from another folder than a variant wants, by another row."""
    wanted = variant.python.packages_from
    for name in variant.packages:
        places = _list_places(sys.modules.get(name))
        used = next((folder for folder in _folders if any(Path(place).is_relative_to(folder) for place in places)), "")
        offered = wanted and any(_has_package(path, name) for path in list_package_paths(wanted))
        if places and used != (wanted if offered else ""):
            sys.modules.pop(_name_module(variant), None)
            raise NotOffered(f"{name} was loaded from {used or places[0]} for another kernel of this run; {_RUN_ALONE}")


def _list_places(module: ModuleType | None) -> Sequence[str]:
    """Return where a module was found."""
    file = getattr(module, "__file__", None)
    return [file] if file else list(getattr(module, "__path__", []))


def _has_package(folder: str, name: str) -> bool:
    return (Path(folder) / name).exists() or (Path(folder) / f"{name}.py").exists()


@contextmanager
def explain_errors(variant: Variant) -> Iterator[None]:
    """Convert exceptions from a variant's code to a PlanError that names the line of its file."""
    try:
        yield
    except (PlanError, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as fault:
        if fault.name is None:
            raise _explain(variant, fault) from fault
        pip = find_pip_line(fault.name.partition(".")[0], variant.python.packages_from)
        raise NotOffered(f"{_find_place(variant, fault)}: Python cannot find the module {fault.name}; {pip}") from fault
    except BaseException as fault:  # a module may call sys.exit()
        raise _explain(variant, fault) from fault


def _explain(variant: Variant, fault: BaseException) -> PlanError:
    text = " ".join(str(fault).partition(_ADVICE_OF_TORCH)[0].split())
    words = f"{_find_place(variant, fault)}: {type(fault).__name__}" + (f": {text}" if text else "")
    known = to_plan_error(Exception(text))
    if isinstance(known, DeviceLost | OutOfMemory):
        return type(known)(words)
    return LaunchError(f"the function raised: {words}")


def _find_place(variant: Variant, fault: BaseException) -> str:
    """Return the last line of the variant's file in the traceback, or the file if there is none."""
    path = find_source_path(variant)
    lines = [frame.lineno for frame in traceback.extract_tb(fault.__traceback__) if frame.filename == path]
    return f"{path}:{lines[-1]}" if lines else path
