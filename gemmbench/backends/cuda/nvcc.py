"""Compiles plans to cubins with their build facts, to PTX and to SASS, by calling nvcc directly.

This needs only the toolkit. pycuda's compiler module would load the driver even just to compile.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from importlib import metadata
from pathlib import Path

from gemmbench.analysis.toolkit import (
    COMPILER_NICENESS,
    find_cuobjdump,
    find_nvcc,
    find_nvdisasm,
    nvcc_version,
    run_limited,
)
from gemmbench.backends import code_cache
from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.code_cache import content_key, fetch_or_build, holds
from gemmbench.backends.cuda.launcher_code import explain_call_errors, wrap_launcher
from gemmbench.backends.parameters import write_checks
from gemmbench.backends.sources import (
    compiler_text,
    has_local_headers,
    list_include_folders,
    list_package_folders,
    quote_path,
    split_text,
    suggest_fix,
)
from gemmbench.errors import BuildError, DeviceError
from gemmbench.planning.files import display_path
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.run_request import TimeLimits

_TAG = "gemmbench_kernel"
_LARGEST_FILE = 1 << 30
"""Size limit of a file that nvcc writes, in bytes."""
_SUBSTITUTION = re.compile(r"S[0-9A-Z]{0,9}_")


def _write_tags(plan: Plan) -> str:
    """Return text that instantiates the kernels of a plan; "" if their names are not mangled.

    Errors in this text are reported at the manifest line that names the kernel.
    """
    launches = [launch for launch in plan.variant.launches if launch.mangled]
    if not launches:
        return ""
    lines = ["", f"template <int Number, auto Function> __global__ void {_TAG}() {{}}"]
    for number, symbol in enumerate(plan.symbols):
        name = symbol.partition("<")[0]
        line = next((launch.line for launch in launches if launch.symbol == name), 0)
        address = f"{_TAG}_{number}"
        lines += [f"#line {line or 1} {quote_path(plan.variant.path)}", f"constexpr auto {address} = &{symbol};"]
        lines += [f"template __global__ void {_TAG}<{number}, {address}>();"]
    return "\n".join([*lines, ""])


def _write_checks(plan: Plan) -> str:
    """Return text that checks the sizes of arguments; "" for a launcher, whose call is checked elsewhere."""
    return "" if plan.variant.is_launcher else write_checks(plan, plan.symbols)


def find_names(symbols: Sequence[str], kernels: Sequence[str]) -> tuple[str, ...] | None:
    """Return the machine-code names of the kernels called `symbols` in the text; None if one is missing."""
    names = [_find_name(number, symbol, kernels) for number, symbol in enumerate(symbols)]
    return tuple(name for name in names if name) if all(names) else None


def list_own(kernels: Sequence[str]) -> list[str]:
    """Return the kernels of the text itself, without those that were added to find names."""
    return [kernel for kernel in kernels if _TAG not in kernel]


def _find_name(number: int, symbol: str, kernels: Sequence[str]) -> str | None:
    if symbol in kernels:
        return symbol
    tag = next((kernel for kernel in kernels if f"{_TAG}ILi{number}E" in kernel), "")
    return next((kernel for kernel in list_own(kernels) if f"L{_normalise(kernel)}E" in _normalise(tag)), None)


def _normalise(name: str) -> str:
    return _SUBSTITUTION.sub("S_", name)


_SECTION = re.compile(r"Compiling entry function '([^']+)'")
_SPILLS = re.compile(r"\b(\d+) bytes spill (?:stores|loads)")
_STACK = re.compile(r"\b(\d+) bytes stack frame")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"\b(\d+) bytes smem")
_LOCATION = re.compile(r"^(\S[^(\n]*)\((\d+)\): ")
_NOISE = re.compile(r"^ptxas info|^\s*$|^Remark: |errors? detected in the compilation of")


def list_kernels(output: str) -> list[str]:
    """Return the machine-code names of the compiled kernels."""
    return _SECTION.findall(output)


def read_build_facts(output: str, symbol: str) -> Build | None:
    """Return the build facts of one kernel, or None if it was not compiled.

    Spilled bytes are stores plus loads, including those of called functions. The stack size is that of the largest
    frame.
    """
    parts = _SECTION.split(output)  # text, name, text, name, text ...
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    if symbol not in sections:
        return None
    section = sections[symbol]
    registers, shared = _REGISTERS.search(section), _SHARED.search(section)
    return Build(
        registers=int(registers[1]) if registers else -1,
        shared=int(shared[1]) if shared else 0,
        spills=sum(map(int, _SPILLS.findall(section))),
        stack=max(map(int, _STACK.findall(section)), default=-1),
    )


def extract_errors(output: str) -> list[str]:
    """Return the lines from the first error on, without noise. Locations have the form `file:line:`."""
    lines = [_LOCATION.sub(r"\1:\2: ", line) for line in output.splitlines() if not _NOISE.search(line)]
    first = next((number for number, line in enumerate(lines) if _is_error(line)), 0)
    return lines[first:]


def _find_first_error(lines: list[str]) -> str:
    """Return the first line that is an error, or ""."""
    return next(filter(_is_error, lines), "")


def _is_error(line: str) -> bool:
    return re.search(r"\b(error|fatal)\b", line) is not None


_FLAGS = ("-O3", "-std=c++17", "-lineinfo")
_REPLACED = ("-O", "-std=")
"""Prefixes of flags that nvcc accepts only once."""

_CUBIN, _LAUNCHER = ".cubin", ".so"
"""The output of a unit: machine code of kernels, or a shared library with a host function that launches them."""

_AS_LIBRARY = ("-shared", "-cudart=static", "-Xcompiler", "-fPIC,-fno-gnu-unique", "-Xlinker", "-Bsymbolic")
MODES = {_CUBIN: ("-cubin",), _LAUNCHER: _AS_LIBRARY}
"""The nvcc options for each kind of output.

A launcher has its own CUDA runtime, which uses the current context. It does not share functions or static variables
with other libraries of the process, such as another configuration of the same code.
"""

Explain = Callable[[str], str]
"""Takes nvcc's output and returns why it refused the text; "" if the compiler's own lines must explain it."""


def _explain_nothing(output: str) -> str:
    """Leave the explanation to the compiler's own lines."""
    return ""


@dataclass(frozen=True)
class CompilerUnit:
    """A text for nvcc, to be compiled for `arch` ("90a"). `symbols` are the kernels to launch.

    Messages call the file `location`. If `headers` is True, the text may include headers from outside the toolkit,
    which are searched for in `folders`. `suffix` is the suffix of the output.
    """

    text: str
    arch: str
    symbols: tuple[str, ...]
    location: str
    flags: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    headers: bool = False
    suffix: str = _CUBIN
    explain: Explain = _explain_nothing

    @property
    def options(self) -> list[str]:
        """The options for nvcc, except the architecture."""
        kept = [flag for flag in _FLAGS if not any(_replaces(own, flag) for own in self.flags)]
        own = [word for flag in self.flags for word in flag.split()]
        return [*kept, *own, *(f"-I{folder}" for folder in self.folders)]


def write_text(plan: Plan) -> str:
    """Return the self-contained text of a plan, with its local headers. Its first line says how to compile it."""
    unit = make_unit(plan)
    packages = [f"-I{folder}" for folder in list_package_folders(plan.variant)]
    options = [option for option in unit.options if not option.startswith("-I")]
    target = f"-gencode=arch=compute_{unit.arch},code=sm_{unit.arch}"
    command = shlex.join(["nvcc", *MODES[unit.suffix], *options, target, *packages])
    text = f"{split_text(plan, inline=True).join()}{_write_tags(plan)}"
    return f"// {command}\n{wrap_launcher(plan, text) if plan.variant.is_launcher else text}"


def _replaces(own: str, flag: str) -> bool:
    return any(own.startswith(start) and flag.startswith(start) for start in _REPLACED)


def make_unit(plan: Plan) -> CompilerUnit:
    """Return the unit of a plan."""
    variant, code = plan.variant, plan.variant.code
    limit = [f"-maxrregcount={code.maxregcount}"] if code.maxregcount else []
    headers = has_local_headers(variant)
    folders = [Path(code.file).parent, *list_include_folders(variant)] if headers else []
    unit = CompilerUnit(
        compiler_text(plan) + _write_tags(plan) + _write_checks(plan),
        plan.arch,
        plan.symbols,
        variant.path,
        (*plan.flags, *limit),
        tuple(map(str, folders)),
        headers,
    )
    if not variant.is_launcher:
        return unit
    explain = partial(explain_call_errors, plan)
    return replace(unit, text=wrap_launcher(plan, unit.text), symbols=(), suffix=_LAUNCHER, explain=explain)


_MOST_LINES = 10
_PLACE = re.compile(r"^/[^:]+(?=:\d+)")


@cache
def _this_module() -> str:
    """Return this module's text. It affects how units are compiled and read, so it is part of every key."""
    return Path(__file__).read_text(encoding="utf-8")


class NvccCompiler:
    """Compiles plans. Safe to call from several threads, because each compilation is a process.

    nvcc is located at the first compilation, so a run that uses only libraries does not need it. `limit` is the time
    limit for one compilation in seconds. `niceness` is its scheduling priority.
    """

    def __init__(self, limit: float = TimeLimits.compile, niceness: int = COMPILER_NICENESS):
        self._limit, self._niceness = limit, niceness

    @cached_property
    def path(self) -> str:
        """The path of the compiler. Raises DeviceError."""
        return find_nvcc()

    def compile(self, plan: Plan) -> Artifact:
        """Compile the plan, or find its code in the cache. Libraries and Python functions are not compiled.

        The facts describe the last kernel that the plan launches. For a launcher, they are known only if its code has a
        single kernel. Raises BuildError with the compiler's own lines, BuildTimeout, or DeviceError if there is no
        compiler.
        """
        if plan.variant.is_python:
            return Artifact(content_key(["python", plan.variant.text]), plan.variant.path, Build())
        if plan.variant.is_library:
            return Artifact(f"{plan.variant.name} {_find_cublas_release()}".strip(), "", Build())
        return self._fetch(make_unit(plan))

    def cubin(self, text: str, arch: str, symbols: tuple[str, ...], location: str) -> Artifact:
        """Compile `text` for `arch` ("90a").

        `symbols` are its kernels; the facts of the last are kept. `location` is its file.
        """
        return self._fetch(CompilerUnit(text, arch, symbols, location))

    def _fetch(self, unit: CompilerUnit) -> Artifact:
        return fetch_or_build(self._make_key(unit), unit.suffix, lambda draft: self._build(unit, draft))

    def _build(self, unit: CompilerUnit, draft: Path) -> Build:
        output = self._run([*MODES[unit.suffix], "-Xptxas", "-v"], unit, draft)
        kernels = list_kernels(output)
        if unit.suffix == _LAUNCHER:
            return (read_build_facts(output, kernels[0]) if len(kernels) == 1 else None) or Build()
        names = find_names(unit.symbols, kernels)
        facts = read_build_facts(output, names[-1]) if names else None
        if names is None or facts is None:
            others = ", ".join(list_own(kernels)) or "none"
            raise BuildError(f"{unit.location}: no kernel '{unit.symbols[-1]}'; kernels here: {others}")
        return facts if names == unit.symbols else replace(facts, symbols=names)

    def is_compiled(self, plan: Plan) -> bool:
        """See Compiler."""
        if plan.variant.is_library or plan.variant.is_python:
            return True
        unit = make_unit(plan)
        if not unit.headers:
            return holds(self._text_key(unit), unit.suffix)
        return code_cache.find_key(self._text_key(unit), unit.suffix) is not None

    def _make_key(self, unit: CompilerUnit) -> str:
        """Return the cache key of a unit's code. It depends on the contents of the headers that the text includes."""
        key = self._text_key(unit)
        if not unit.headers:
            return key
        return code_cache.find_key(key, unit.suffix) or code_cache.make_key(key, lambda: self._list_headers(unit))

    def _text_key(self, unit: CompilerUnit) -> str:
        options = [*unit.options, unit.arch, *unit.symbols[-1:]]
        return content_key(["nvcc", nvcc_version(self.path), *options, _this_module(), unit.text])

    def _list_headers(self, unit: CompilerUnit) -> list[str]:
        """List all files that nvcc reads for a unit. Raises the same errors as `compile`."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "kernel.d"
            self._run(["-M"], unit, out)
            _, _, files = out.read_text(encoding="utf-8", errors="surrogateescape").partition(": ")
            names = [name.replace("\\ ", " ") for name in re.findall(r"(?:\\ |[^\s\\])+", files)]
            return [name for name in names if not name.startswith(folder)]

    def text(self, plan: Plan) -> str:
        """Return the text that is compiled, with its local headers included. Raises BuildError."""
        return write_text(plan)

    def ptx(self, plan: Plan) -> str:
        """Return the PTX of a plan. Raises the same errors as `compile`."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "kernel.ptx"
            self._run(["-ptx"], make_unit(plan), out)
            return out.read_text(encoding="utf-8")

    def sass(self, plan: Plan) -> str:
        """Return the disassembled machine code of a plan.

        Raises the same errors as `compile`, or DeviceError if there is no cuobjdump.
        """
        return self._disassemble("cuobjdump", [find_cuobjdump(), "--dump-sass"], plan)

    def sass_by_line(self, plan: Plan) -> str:
        """See InspectingCompiler."""
        return self._disassemble("nvdisasm", [find_nvdisasm(), "-g", "-c"], plan)

    def _disassemble(self, name: str, command: list[str], plan: Plan) -> str:
        done = run_limited([*command, self.compile(plan).path], self._limit)
        if done.returncode:
            raise DeviceError(f"{name} failed: {done.stderr.strip()}")
        return done.stdout

    def _run(self, mode: list[str], unit: CompilerUnit, out: Path) -> str:
        """Compile the text of `unit` to `out` and return the compiler's output."""
        source = out.with_suffix(".cu")
        source.write_text(unit.text, encoding="utf-8")
        # With -arch=sm_90a, some versions of nvcc would also compile for plain sm_90.
        code = "compute" if "-ptx" in mode else "sm"
        target = f"-gencode=arch=compute_{unit.arch},code={code}_{unit.arch}"
        command = [self.path, *mode, *unit.options, target, "-o", str(out), str(source)]
        done = run_limited(command, self._limit, niceness=self._niceness, largest_file=_LARGEST_FILE)
        if done.returncode:
            output = done.stderr or done.stdout
            raise BuildError(unit.explain(output) or self._explain_errors(output, unit, source))
        return done.stderr + done.stdout

    def _explain_errors(self, output: str, unit: CompilerUnit, source: Path) -> str:
        if "Unsupported gpu architecture" in output:
            return (
                f"{unit.location}: nvcc {nvcc_version(self.path)} does not compile for sm_{unit.arch}; set "
                "CUDACXX to the nvcc of another toolkit"
            )
        errors = _shorten_paths(extract_errors(output.replace(str(source), unit.location)))
        if refused := [f"{found[1]}: {found[2]}" for each in errors if (found := _OF_ARGS.match(each))]:
            return "\n".join([f"{refused[0]}; correct `symbol` or `args`", *refused[1:_MOST_LINES]])
        fix = suggest_fix(_find_first_error(errors))
        return "\n".join([f"{unit.location} does not compile{fix and f'; {fix}'}:", *errors[:_MOST_LINES]])


_OF_ARGS = re.compile(r'(.+?:\d+): error: static assertion failed with "(args: [^"]+)"')


def _shorten_paths(lines: list[str]) -> list[str]:
    """Return the lines, with files named as in other messages."""
    return [_PLACE.sub(lambda place: display_path(Path(place[0])), line) for line in lines]


def _find_cublas_release() -> str:
    """Return the version of NVIDIA's cuBLAS wheel, or "" if cuBLAS does not come from a wheel."""
    for wheel in ("nvidia-cublas", "nvidia-cublas-cu13", "nvidia-cublas-cu12"):
        try:
            return metadata.version(wheel)
        except metadata.PackageNotFoundError:
            continue
    return ""
