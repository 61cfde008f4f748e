"""From a plan to an executable: kernel text, prelude and runtime, through the C++ compiler."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import struct
import subprocess
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from gemmbench.analysis.toolkit import COMPILER_NICENESS, run_limited
from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.code_cache import content_key, fetch_or_build, holds
from gemmbench.backends.cpu import entry, walls
from gemmbench.backends.cpu.entry import cpu_name
from gemmbench.backends.cpu.support import ALIGNMENT, has_barriers
from gemmbench.backends.sources import quote_path, split_text, suggest_fix
from gemmbench.errors import BuildError, DeviceError
from gemmbench.planning.manifests.variant import NULL, SCALARS
from gemmbench.planning.plans.plan import PassedArgument, Plan
from gemmbench.planning.sweeps.overrides import TimeLimits

_SHARED = b"gb_shared"
"""The section of static shared memory, named by shared.ld; an empty one is left out of the file."""

_ELF64 = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<40xQ10xHHH")
"""Of the file: offset of the section headers; size and number of them, and which one names them."""
_SECTION = struct.Struct("<I20xQQ24x")
"""Of a section: offset of its name among the names, offset in the file, size."""
_PROGRAM_HEADER = struct.Struct("<32xQ14xHH")
"""Of the file: offset, size of each and number of the program headers."""
_SEGMENT, _LOADED = struct.Struct("<I36xQ"), 1
"""Of a program header: its kind, and its size in memory."""


def read_static_shared(path: Path) -> int:
    """Bytes of static shared memory of a block. Raises BuildError for a file of another format."""
    code = path.read_bytes()
    if not code.startswith(_ELF64):
        raise BuildError("the C++ compiler did not make a 64-bit little-endian ELF executable")
    table, step, count, naming = _HEADER.unpack_from(code)
    sections = [_SECTION.unpack_from(code, table + number * step) for number in range(count)]
    names = sections[naming][1]
    return next((size for name, _, size in sections if code.startswith(_SHARED + b"\0", names + name)), 0)


def _read_memory_size(path: Path) -> int:
    """Bytes of memory that code, static arrays and static variables take once an executable is loaded."""
    with path.open("rb") as file:
        table, step, count = _PROGRAM_HEADER.unpack(file.read(_PROGRAM_HEADER.size))
        file.seek(table)
        segments = [_SEGMENT.unpack_from(file.read(step)) for _ in range(count)]
    return sum(size for kind, size in segments if kind == _LOADED)


PRELUDE = Path(__file__).parent / "prelude"

# nvcc lets kernels read memory through other types than it was written with.
_FLAGS = ("-std=c++17", "-O3", "-ffp-contract=fast", "-fno-strict-aliasing", "-w", "-fdiagnostics-color=never")
_NATIVE = "-march=native"
_MOST_ERRORS = 3
_MOST_OUTPUT = 1 << 20
_SUFFIX = ".kernel"
_LIMITS = walls.Limits(memory=4 << 30, file=256 << 20)
_VARIABLES = (
    "PATH LD_LIBRARY_PATH COMPILER_PATH GCC_EXEC_PREFIX CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH"
).split()
"""Of the environment, what a compiler searches; their folders can be read."""

_DYNAMIC_SHARED = re.compile(
    rf"\bextern\s+({ALIGNMENT.pattern}\s*)?__shared__\b(?P<kind>(?:(?!\bextern\b)[^;{{}}]){{0,500}}?)\b(?P<name>\w+)\s*\[\s*\]\s*;"
)

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>|\"[^\"\n]+\")", re.MULTILINE)
_CALL = """
#line 1 {place}
namespace gb {{
extern const bool synchronises = {synchronises};
void entry(const Arguments& a) {{
{scalars}
    switch (a.step) {{
{calls}
    }}
}}
}}
"""
_CASE = "        case {step}: return {symbol}({arguments});"
_SCALAR = "    {ctype} scalar_{number} = static_cast<{ctype}>(a.{role});"
_GEMM = (
    "a.M, a.N, a.K, static_cast<{scalar}>(a.alpha), gb::Pointer{{a.A}}, gb::Pointer{{a.B}}, "
    "static_cast<{scalar}>(a.beta), gb::Pointer{{a.C}}"
)
_TRAILING = {name: f", gb::Pointer{{a.{name}}}" for name in ("bias", "workspace")}
_NETWORK = "a.M, (const TA*)a.A, (const TB*)a.B, (TC*)a.C"


def translation_unit(plan: Plan) -> str:
    """The C++ text of a plan's kernel and of the function through which the runtime calls it."""
    variant, text = plan.variant, split_text(plan, inline=True)
    if variant.is_host_function:
        return '#include "abi.h"\n' + text.join() + _entry_function(plan, "false")
    call = _entry_function(plan, str(has_barriers(text.code)).lower())
    head = "\n".join([*text.includes, *_hoist_includes(text.code), *text.defines])
    code = _DYNAMIC_SHARED.sub(_replace_dynamic_shared, text.code)
    return f'#include "prelude.h"\n{head}\n#include "words.h"\nnamespace {{\n{code}\n}}{call}'


def _hoist_includes(code: str) -> list[str]:
    """The headers that code still includes, so that none of them is first read inside the namespace.

    One that does not exist is left to its own line, which may never be read. It is looked for under another
    spelling, since g++ 12 says nothing about a missing header that `__has_include` has looked for.
    """
    names = dict.fromkeys(_INCLUDE.findall(code))
    return [f"#if __has_include({name[0]}./{name[1:]})\n#include {name}\n#endif" for name in names]


def _entry_function(plan: Plan, synchronises: str) -> str:
    symbols = plan.symbols or ("gemm",)
    arguments = _declared_arguments(plan) if plan.arguments else _standard_arguments(plan)
    cases = [_CASE.format(step=step, symbol=symbol, arguments=arguments) for step, symbol in enumerate(symbols)]
    scalars = [
        _SCALAR.format(number=number, ctype=each.ctype, role=each.role)
        for number, each in enumerate(plan.arguments)
        if each.by_pointer
    ]
    place = quote_path(f"{plan.variant.path}: call of {', '.join(symbols)}")
    parts = {"scalars": "\n".join(scalars), "calls": "\n".join(cases)}
    return _CALL.format(place=place, synchronises=synchronises, **parts)


def _standard_arguments(plan: Plan) -> str:
    trailing = "".join(_TRAILING[name] for name in plan.variant.trailing)
    if plan.network:
        return _NETWORK + trailing
    return _GEMM.format(scalar=plan.problem.precision.scalar.ctype) + trailing


def _declared_arguments(plan: Plan) -> str:
    return ", ".join(_write_argument(number, argument) for number, argument in enumerate(plan.arguments))


def _write_argument(number: int, argument: PassedArgument) -> str:
    if argument.by_pointer:
        return f"&scalar_{number}"
    if argument.role in SCALARS:
        return f"static_cast<{argument.ctype}>(a.{argument.role})"
    if argument.role == NULL:
        return "nullptr"
    return (
        f"gb::Pointer{{a.{argument.role}}}" if argument.role else f"static_cast<{argument.ctype}>(a.numbers[{number}])"
    )


def _replace_dynamic_shared(declaration: re.Match[str]) -> str:
    """`extern __shared__ T name[];` as a pointer to the runtime's buffer, which is aligned to a page."""
    kind = " ".join(ALIGNMENT.sub(" ", declaration["kind"]).split())
    lines = "\n" * declaration[0].count("\n")
    return f"{kind}* const {declaration['name']} = reinterpret_cast<{kind}*>(gb_dynamic_shared);{lines}"


class CpuCompiler:
    """The C++ compiler of this machine: $CXX, else g++, clang++ or c++.

    `limit` is seconds for one compilation.
    """

    def __init__(self, limit: float = TimeLimits.compile):
        self._limit = limit

    def compile(self, plan: Plan) -> Artifact:
        """Compile the plan or find it in the cache.

        Raises BuildError, BuildTimeout, DeviceError (no compiler).
        """
        if plan.variant.is_library:
            return entry.openblas_artifact()
        unit = translation_unit(plan)
        return fetch_or_build(self._make_key(unit), _SUFFIX, lambda path: self._build(plan.variant.kind, unit, path))

    def is_compiled(self, plan: Plan) -> bool:
        """As Compiler."""
        return plan.variant.is_library or holds(self._make_key(translation_unit(plan)), _SUFFIX)

    def _make_key(self, unit: str) -> str:
        return content_key([unit, *self._surroundings])

    @cached_property
    def version(self) -> str:
        """The first line of the compiler's --version. Raises DeviceError."""
        done = self._run(["--version"])
        if done.returncode:
            reason = _first_errors(done.stderr) or walls.explain_compiler(self._command, done, "anything")
            raise DeviceError(f"{shlex.join(self._command)} --version failed: {reason}; set CXX")
        return done.stdout.partition("\n")[0]

    @cached_property
    def _command(self) -> list[str]:
        return walls.find_compiler()

    @cached_property
    def _readable(self) -> list[str | Path]:
        """What the compiler reads besides the system's folders: itself, what it searches, and the prelude."""
        named = [os.environ.get(name, "") for name in _VARIABLES]
        searched = [folder for value in named for folder in value.split(os.pathsep) if folder.startswith("/")]
        programs = [found for word in self._command if (found := shutil.which(word))]
        installed = [prefix for program in programs if (prefix := _find_prefix(Path(program).resolve()))]
        return [PRELUDE, *programs, *(Path(program).resolve() for program in programs), *installed, *searched]

    @cached_property
    def _probe(self) -> subprocess.CompletedProcess[str]:
        """What the compiler says of itself if it is to compile for this processor; it fails where it cannot."""
        return self._run([_NATIVE, "-v", "-E", "-x", "c++", os.devnull])

    @cached_property
    def _flags(self) -> tuple[str, ...]:
        return _FLAGS if self._probe.returncode else (*_FLAGS, _NATIVE)

    @cached_property
    def _surroundings(self) -> list[str]:
        """What the machine code depends on besides the unit: compiler, processor, prelude, options of this module."""
        # The processor, since machines that share the cache may not run each other's code.
        texts = [path.read_text(encoding="utf-8") for path in (Path(__file__), *sorted(PRELUDE.iterdir()))]
        return [*self._command, self._probe.stderr, cpu_name(), *texts]

    @cached_property
    def _runtime(self) -> str:
        """The compiled runtime, the same for every kernel."""
        source = str(PRELUDE / "runtime.cpp")

        def build(path: Path) -> Build:
            self._run_checked([*self._flags, "-c", source, "-o", path.name], path.parent)
            return Build()

        return fetch_or_build(content_key([source, *self._surroundings]), ".o", build).path

    def _run(
        self, arguments: list[str], folder: Path | None = None, readable: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run the compiler behind walls; it writes to `folder` only. Raises BuildTimeout, DeviceError."""
        kept = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        kept |= {name: value for name, value in os.environ.items() if name.startswith("NIX_")}
        # ccache and distcc would need files and network that are behind the walls.
        environment = {**kept, "LC_ALL": "C", "CCACHE_DISABLE": "1", "TMPDIR": str(folder or "/nowhere")}
        writable = [folder] if folder else []
        paths = [*self._readable, *readable]
        command = walls.wrap_command([*self._command, *arguments], paths, writable, _LIMITS, self._limit)
        try:
            return run_limited(command, self._limit, folder, environment, COMPILER_NICENESS, most_output=_MOST_OUTPUT)
        except OSError as fault:
            raise DeviceError(f"cannot run the C++ compiler {shlex.join(self._command)}: {fault}") from None

    def _build(self, kind: str, unit: str, path: Path) -> Build:
        folder = path.parent
        (folder / f"{kind}.cpp").write_text(unit, encoding="utf-8")  # shared.ld knows kernel.o by its name
        self._run_checked([*self._flags, "-I", str(PRELUDE), "-c", f"{kind}.cpp"], folder)
        runtime = self._runtime
        arguments = [f"{kind}.o", runtime, f"-Wl,-T,{PRELUDE / 'shared.ld'}", "-o", path.name]
        self._run_checked(arguments, folder, [runtime])
        if (needed := _read_memory_size(path)) > walls.KERNEL_MEMORY:
            limit = walls.KERNEL_MEMORY >> 20
            raise BuildError(f"code and static arrays take {needed >> 20} MiB of memory, but {limit} MiB is the limit")
        return Build(shared=read_static_shared(path))

    def _run_checked(self, arguments: list[str], folder: Path, readable: Sequence[str] = ()) -> None:
        done = self._run(arguments, folder, readable)
        made = folder / (arguments[-1] if "-o" in arguments else f"{Path(arguments[-1]).stem}.o")
        if done.returncode or not made.is_file():
            raise BuildError(_first_errors(done.stderr) or walls.explain_compiler(self._command, done, made.name))


def _find_prefix(program: Path) -> Path | None:
    """The folder in which a compiler is installed, with its libraries; None if that would be a user's home or more."""
    prefix = program.parent.parent
    return None if program.parent.name != "bin" or Path.home().is_relative_to(prefix) else prefix


_LINKER = re.compile(r"(?:\S+-)?ld(?:\.\w+)?")


def _is_of_linker(line: str) -> bool:
    """Whether a line is a complaint of `ld`, `/usr/bin/ld`, `x86_64-linux-gnu-ld.bfd` and the like."""
    program, _, said = line.partition(": ")
    return _LINKER.fullmatch(program.rpartition("/")[2]) is not None and not said.startswith("warning: ")


def _first_errors(output: str) -> str:
    lines = output.splitlines()
    errors = [line for line in lines if re.search(r"\berror: |undefined reference", line)]
    errors = [line for line in errors if not line.startswith("collect2:")]  # "ld returned 1 exit status"
    shown = (errors or [line for line in lines if _is_of_linker(line)] or lines)[:_MOST_ERRORS]
    if errors and (fix := suggest_fix(shown[0])):
        shown[0] += f"; {fix}"
    return "\n".join(shown)
