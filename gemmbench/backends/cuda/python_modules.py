"""Runs the modules of Python variants, with their own folder of packages, and explains what they raise."""

from __future__ import annotations

import linecache
import site
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from gemmbench.backends.code_cache import content_key
from gemmbench.backends.cuda.driver import to_plan_error
from gemmbench.backends.sources import find_pip_line, find_source_path
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
        with explain_errors(variant), _keep_shared_code(variant):
            _import_packages_from(variant)
        with explain_errors(variant):
            _import_library(variant.python.library)
        with explain_errors(variant), _keep_shared_code(variant):
            sys.modules[name] = _run_module(name, variant)
            _check_origins(variant)
    return sys.modules[name]


def forget_module(variant: Variant) -> None:
    """Release a module and everything that it keeps, once none of its functions is in use."""
    sys.modules.pop(_name_module(variant), None)


@contextmanager
def copy_module(variant: Variant) -> Iterator[None]:
    """Let load_module run a module anew in the `with` block. Afterwards, it is what it was before."""
    name = _name_module(variant)
    kept = sys.modules.pop(name, None)
    try:
        yield
    finally:
        sys.modules.pop(name, None)
        if kept is not None:
            sys.modules[name] = kept


def _import_library(name: str) -> None:
    """Import PyTorch or CuPy before the module runs, so that its code is known. The module says if it is missing."""
    with suppress(ImportError):
        if name:
            import_module(name)


@contextmanager
def _keep_shared_code(variant: Variant) -> Iterator[None]:
    """Restore functions and classes that the `with` block replaces, such as the timer of gemmbench.

    Raises LaunchError if it replaces any, because the rows of a batch share them.
    """
    _shared[:] = _list_shared_code()
    with watch_shared_code(variant):
        yield


@contextmanager
def watch_shared_code(variant: Variant) -> Iterator[None]:
    """Restore code that rows share if the `with` block replaces it.

    Raises LaunchError if it does, unless the block raises itself.
    """
    try:
        yield
    finally:
        if changed := _restore_shared_code():
            forget_module(variant)
    if changed:
        raise LaunchError(_explain_change(variant, changed))


def _explain_change(variant: Variant, changed: str) -> str:
    owner = "gemmbench, which its rows share" if changed.startswith(_PACKAGE) else "code that measures and compares"
    name = changed.removeprefix(f"{_PACKAGE}:")
    return f"{find_source_path(variant)} replaces {name} of {owner}; do not change it"


_Shared = tuple[ModuleType | type, str, object, Callable[[str, object], object]]
"""A module or class, a name, what it stands for there (_INHERITED if only base classes have it), and how to read it."""
_INHERITED = object()
_shared: list[_Shared] = []
"""What it was before the last module was run."""
_MEASURING = ("pycuda.driver", "numpy", "time")
_EXCHANGING = {
    "torch": ("from_dlpack", "empty", "Tensor.copy_", "Tensor.data_ptr", "Tensor.shape", "Tensor.dtype"),
    "cupy": ("from_dlpack", "empty"),
}
"""What takes and checks the results that functions return."""


def _list_shared_code() -> list[_Shared]:
    """List the code of gemmbench and of the modules that measure, compare and exchange results."""
    found: list[_Shared] = [
        (owner, name, value, vars(owner).get)
        for owner in [*_list_own_code(), *_list_measuring_code()]
        for name, value in list(vars(owner).items())
        if _is_code(value)
    ]
    for library, names in _EXCHANGING.items():
        for name in names if library in sys.modules else ():
            first, _, part = name.rpartition(".")
            owner = getattr(sys.modules[library], first) if first else sys.modules[library]
            found.append((owner, part, vars(owner).get(part, _INHERITED), vars(owner).get))
    return found


def _restore_shared_code() -> str:
    """Restore what has been replaced and return the first of it, such as `time.sleep`; "" if nothing has."""
    changed = ""
    for owner, name, value, read in _shared:
        if read(name, _INHERITED) is not value:
            if value is _INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
            home = f"{_PACKAGE}:" if _is_own(owner) else ""
            changed = changed or f"{home}{owner.__name__}.{name}"
    return changed


def _is_own(owner: ModuleType | type) -> bool:
    name = owner.__module__ if isinstance(owner, type) else owner.__name__
    return name.partition(".")[0] == _PACKAGE


def _list_own_code() -> Iterator[ModuleType | type]:
    """Yield the loaded modules of gemmbench and their classes."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE:
            yield module
            yield from (each for each in vars(module).values() if isinstance(each, type) and each.__module__ == name)


def _list_measuring_code() -> Iterator[ModuleType | type]:
    """Yield the loaded modules that measure and compare, with the classes of the driver."""
    for name in _MEASURING:
        if isinstance(module := sys.modules.get(name), ModuleType):
            yield module
            if name == "pycuda.driver":
                yield from (each for each in vars(module).values() if isinstance(each, type))


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


_folders: dict[str, list[str]] = {}
"""The folder of packages that this process uses, if any, with the places that it adds."""


def _import_packages_from(variant: Variant) -> None:
    """Put a variant's folder of packages before all other places.

    It stays there, because functions may import more when they are called. Raises NotOffered if another folder is in
    use, because a process cannot have a package twice.
    """
    folder = variant.python.packages_from
    if not folder or folder in _folders:
        return
    if _folders:
        raise NotOffered(f"another kernel of this run imports its packages from {next(iter(_folders))}; {_RUN_ALONE}")
    _folders[folder] = _add_packages(folder)


def _add_packages(folder: str) -> list[str]:
    """Put a folder and what its .pth files add before all other places, and return these. Lines of code are run."""
    before = list(sys.path)
    sys.path.insert(0, folder)
    site.addsitedir(folder)  # nvidia-cutlass-dsl names its packages in a line of code
    added = list(dict.fromkeys(path for path in sys.path if path == folder or path not in before))
    sys.path[:] = [*added, *(path for path in before if path not in added)]
    return added


_RUN_ALONE = "a process cannot have a package twice, so run this kernel in a run of its own"


def _check_origins(variant: Variant) -> None:
    """Raise NotOffered if a package was loaded from another folder than a variant wants, by another row."""
    wanted = variant.python.packages_from
    for name in variant.packages:
        places = _list_places(sys.modules.get(name))
        used = next((folder for folder in _folders if any(Path(place).is_relative_to(folder) for place in places)), "")
        offered = wanted and any(_has_package(path, name) for path in _folders[wanted])
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
