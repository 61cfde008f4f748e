"""Turns a plan into an executable by compiling the kernel's text, the prelude and the runtime with the C++ compiler."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from gemmbench.analysis.toolkit import COMPILER_NICENESS, run_limited
from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.code_cache import content_key, fetch_or_build, holds
from gemmbench.backends.cpu import cuda_words, entry, preprocessing, support, walls
from gemmbench.backends.cpu.cuda_words import rewrite_words
from gemmbench.backends.cpu.entry import cpu_name
from gemmbench.backends.cpu.preprocessing import (
    Preprocessed,
    hoist_includes,
    name_conditions,
    name_missing,
    read_output,
    write_input,
)
from gemmbench.backends.cpu.support import explain_unknown, find_unsupported, has_barriers
from gemmbench.backends.parameters import PassedParameter, list_parameters, write_checks
from gemmbench.backends.sources import SourceText, quote_path, split_text, suggest_fix
from gemmbench.errors import BuildError, BuildTimeout, DeviceError, PlanError, Unsupported
from gemmbench.planning.cpp import items, reach, tokens
from gemmbench.planning.cpp.reach import Edit, find_reached, write_reached
from gemmbench.planning.epilogues import EPILOGUE_STEPS
from gemmbench.planning.manifests.kernel_code import split_template
from gemmbench.planning.manifests.variant import NULL, SCALARS
from gemmbench.planning.plans.plan import PassedArgument, Plan
from gemmbench.planning.problems import OFFSETS, SCALED
from gemmbench.planning.sweeps.run_request import TimeLimits

_SHARED = b"gb_shared"
"""The section of static shared memory, named by shared.ld. If empty, it is left out of the file."""

_IS_GNU = re.compile(r"^gcc version", re.MULTILINE)
_ELF64 = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<40xQ10xHHH")
"""From the file header: the offset, size and number of the section headers, and the index of the one with their names.
"""
_SECTION = struct.Struct("<I20xQQ24x")
"""From a section header: the offset of its name among the names, its offset in the file, and its size."""
_PROGRAM_HEADER = struct.Struct("<32xQ14xHH")
"""From the file header: the offset, size and number of the program headers."""
_SEGMENT, _LOADED = struct.Struct("<I36xQ"), 1
"""From a program header: its kind, and its size in memory."""


def read_static_shared(path: Path) -> int:
    """Return the bytes of static shared memory per block. Raises BuildError for a file in another format."""
    code = path.read_bytes()
    if not code.startswith(_ELF64):
        raise BuildError("the C++ compiler did not produce a 64-bit little-endian ELF executable")
    table, step, count, naming = _HEADER.unpack_from(code)
    sections = [_SECTION.unpack_from(code, table + number * step) for number in range(count)]
    names = sections[naming][1]
    return next((size for name, _, size in sections if code.startswith(_SHARED + b"\0", names + name)), 0)


def _read_memory_size(path: Path) -> int:
    """Return the memory in bytes that code, static arrays and static variables use once an executable is loaded."""
    with path.open("rb") as file:
        table, step, count = _PROGRAM_HEADER.unpack(file.read(_PROGRAM_HEADER.size))
        file.seek(table)
        segments = [_SEGMENT.unpack_from(file.read(step)) for _ in range(count)]
    return sum(size for kind, size in segments if kind == _LOADED)


PRELUDE = Path(__file__).parent / "prelude"
PRELUDE_NAME = "/gemmbench/prelude"
"""The prelude's name in line information. It is fixed, because clones in several folders share the cache."""
_READERS = (cuda_words, items, preprocessing, reach, support, tokens)
_OWN_TEXTS = [Path(__file__), *(Path(str(module.__file__)) for module in _READERS)]
"""Modules that affect what is compiled."""

# nvcc lets kernels read memory through other types than those it was written with.
_DIALECT = ("-std=c++17", "-fdiagnostics-color=never")
_MEANING = (
    "-ffp-contract=fast", "-fno-strict-aliasing", "-Werror=vla", f"-ffile-prefix-map={PRELUDE}={PRELUDE_NAME}",
)  # fmt: skip
_NATIVE = "-march=native"


@dataclass(frozen=True)
class _Recipe:
    """How to build an executable: a runtime from the prelude's folder, and options for it and for the kernel."""

    runtime: str
    kernel_flags: tuple[str, ...] = ("-O3",)
    runtime_flags: tuple[str, ...] = ("-O3",)
    script: str = "shared.ld"
    link_flags: tuple[str, ...] = ()


_MEASURED, _TRIED = _Recipe("runtime.cpp"), _Recipe("tryout.cpp")
# -O1 merges and hoists loads as nvcc does, but does not unroll loops. Without SRA, a vector stays a single access.
# Without sinking, a load whose value is needed on only one path stays where it was written. The runtime defines the
# hooks, so the linker must not see -fsanitize. binutils 2.40 misreads the file names of DWARF 5.
_WATCHED = _Recipe(
    "watch/watch.cpp",
    ("-O1", "-fno-tree-sink", "-fno-tree-sra", "-fno-ipa-sra", "-gdwarf-4", "-fno-pie", "-w", "-fsanitize=thread",
     "--param=tsan-instrument-func-entry-exit=0", "-fsanitize=bounds,signed-integer-overflow"),
    ("-O2", "-fno-pie"),
    "watch/watch.ld",
    ("-no-pie",),
)  # fmt: skip
_MOST_ERRORS = 3
_MOST_OUTPUT = 1 << 20
_SUFFIX, _RUNTIME = ".kernel", "runtime.o"
_LIMITS = walls.Limits(memory=4 << 30, file=256 << 20)
_VARIABLES = (
    "PATH LD_LIBRARY_PATH COMPILER_PATH GCC_EXEC_PREFIX CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH"
).split()
"""Environment variables that list folders for a compiler to search. The compiler may read these folders."""

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
_TRYOUT = """
#line 1 "call"
namespace gb {{
extern const bool synchronises = {synchronises};
void entry(const Arguments& a) {{ {symbol}({arguments}); }}
}}
"""
_CASE = "        case {step}: return {symbol}({arguments});"
_SCALAR = "    {ctype} scalar_{number} = static_cast<{ctype}>(a.{role});"
_GEMM = (
    "a.M, a.N, a.K, static_cast<{scalar}>(a.alpha), gb::Pointer{{a.A}}, gb::Pointer{{a.B}}, "
    "static_cast<{scalar}>(a.beta), gb::Pointer{{a.C}}"
)
_TRAILING = {
    name: f", gb::Pointer{{a.{name}}}" for name in ("bias", "residual", "scale", *SCALED, "workspace", "D", "offsets")
}
_NETWORK = "a.M, (const {TA}*)a.A, (const {TB}*)a.B, ({TC}*)a.C"


def translation_unit(plan: Plan) -> str:
    """Return the C++ text of a plan before preprocessing. For a host function, it includes the call."""
    text = split_text(plan, inline=True)
    if plan.variant.is_host_function:
        return '#include "abi.h"\n' + text.join() + _entry_function(plan, plan.symbols or ("gemm",), "false")
    return write_input(text, plan.symbols or ("gemm",), plan.variant.min_sm)


def _write_kernel(plan: Plan, found: Preprocessed, watched: bool = False) -> str:
    """Write the C++ text of the code that a plan's kernels use and of the function that the runtime calls.

    Raises Unsupported if the code needs a GPU, or BuildError if a kernel is missing.
    """
    _check_kernels(plan, found)
    reached = find_reached(found.source, found.words)
    if reason := find_unsupported(found.source, reached):
        raise Unsupported(reason)
    edits = [*rewrite_words(reached), *(_note_returns(reached) if watched else ())]
    code = write_reached(found.source, reached, edits)
    call = _entry_function(plan, found.words, str(has_barriers(reached)).lower())
    head, checks = hoist_includes(split_text(plan, inline=True)), write_checks(plan, found.words)
    words = '#include "words.h"\n' + '#include "watch/words.h"\n' * watched
    return f'#include "prelude.h"\n{head}\n{words}namespace {{\n{code}\n{checks}}}{call}'


def _note_returns(reached: Sequence[items.Item]) -> Iterator[Edit]:
    """Make every `return;` record its line, so that a fault can say why threads are missing at a barrier."""
    for item in reached:
        if item.kind not in ("function", "class") or "constexpr" in item.words:
            continue
        for token, following in pairwise(each for each in item.tokens if each.kind != "directive"):
            if token.text == "return" and following.is_sign(";"):
                yield Edit(token.start, token.end, "for (gb::last_return = __LINE__;;) return")


def _check_kernels(plan: Plan, found: Preprocessed) -> None:
    """Raise BuildError if the text has no kernel with this name."""
    items_by_name: dict[str, list[items.Item]] = {}
    for item in found.source.walk():
        if item.is_kernel:
            items_by_name.setdefault(item.function_name, []).append(item)
    for symbol in found.words:
        scope, _, name = split_template(symbol)[0].rpartition("::")
        if name not in items_by_name:
            known = f"it has {', '.join(items_by_name)}" if items_by_name else "it has none"
            file = Path(plan.variant.code.file or plan.variant.path).name
            if left_out := name_conditions(plan.variant.text, file, name):
                raise BuildError(f"no kernel {name} in {plan.variant.path}; {known}{left_out}")
            raise BuildError(f"no kernel {name} in {plan.variant.path}; {known}; correct `symbol`{name_missing(found)}")
        head = ["template", "<"] if symbol.endswith(">") else []
        alike = {
            " ".join(token.text for token in each.parameter_list): found.source.places.name(each.start)
            for each in items_by_name[name]
            if each.body and "::".join(each.scope) == scope and _list_opening(each) == head
        }
        if len(alike) > 1 and plan.arguments:
            places = " and ".join(alike.values())
            raise BuildError(f"several kernels are called {name} ({places}), and `symbol` cannot say which; rename one")


def _list_opening(kernel: items.Item) -> list[str]:
    """Return the start of a declaration: `template <`, `template <>` for a specialisation, or nothing."""
    words = [token.text for token in kernel.tokens[:3]]
    return [] if words[0] != "template" else words if words[2:] == [">"] else words[:2]


def _entry_function(plan: Plan, symbols: Sequence[str], synchronises: str) -> str:
    """Write the function that calls these symbols of a plan. Macros in the symbols are already expanded."""
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


def _is_null(plan: Plan, role: str) -> bool:
    """Return whether this launch has no such operand: a step that it does not want, scales, or offsets of groups."""
    if role in SCALED:
        return plan.problem.precision.scales is None
    if role == OFFSETS:
        return not plan.launched.groups
    return role == NULL or (role in EPILOGUE_STEPS and role not in plan.fused)


def _standard_arguments(plan: Plan) -> str:
    null = [name for name in plan.variant.trailing if _is_null(plan, name)]
    trailing = "".join(", nullptr" if name in null else _TRAILING[name] for name in plan.variant.trailing)
    if plan.network:
        return _NETWORK.format(**dict(plan.defines)) + trailing
    return _GEMM.format(scalar=plan.problem.precision.scalar.ctype) + trailing


_OTHER_ARGUMENTS = re.compile(r": call of .*: error: ")
_EXPECTED = "int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C"
_EXPECTED_TRAILING = {"bias": "const TC*", "residual": "const TC*", "workspace": "void*", "D": "TC*"}
_EXPECTED_TRAILING |= {"offsets": "const int*", **dict.fromkeys(SCALED, "const float*")}


def _list_expected(plan: Plan) -> str:
    """Return the standard arguments of a kernel, for a message about one that takes others."""
    types = {**_EXPECTED_TRAILING, "scale": f"const {plan.problem.precision.epilogue_type.ctype}*"}
    trailing = [f"{types[name]} {name}" for name in plan.variant.trailing]
    return f"without `args`, it gets ({', '.join([_EXPECTED, *trailing])})"


def _declared_arguments(plan: Plan) -> str:
    written = {argument: _write_argument(plan, number, argument) for number, argument in enumerate(plan.arguments)}
    return ", ".join(_write_parameter(parameter, written) for parameter in list_parameters(plan.arguments))


def _write_parameter(parameter: PassedParameter, written: Mapping[PassedArgument, str]) -> str:
    if not parameter.is_structure:
        return written[parameter.arguments[0]]
    fields = " ".join(f"s.{each.field} = {written[each]};" for each in parameter.arguments)
    return f"gb::Structure{{[&](auto& s) {{ {fields} }}}}"


def _write_argument(plan: Plan, number: int, argument: PassedArgument) -> str:
    if argument.by_pointer:
        return f"&scalar_{number}"
    if argument.role in SCALARS:
        return f"static_cast<{argument.ctype}>(a.{argument.role})"
    if _is_null(plan, argument.role):
        return "nullptr"
    return (
        f"gb::Pointer{{a.{argument.role}}}" if argument.role else f"static_cast<{argument.ctype}>(a.numbers[{number}])"
    )


class CpuCompiler:
    """The C++ compiler of this machine: $CXX or else g++, clang++ or c++.

    `limit` is the time limit for one compilation in seconds.
    """

    def __init__(self, limit: float = TimeLimits.compile):
        self._limit = limit
        self._runtime_lock = Lock()

    def compile(self, plan: Plan) -> Artifact:
        """Compile the plan, or find its code in the cache.

        Raises BuildError, BuildTimeout, DeviceError (no compiler).
        """
        if plan.variant.is_library:
            return entry.openblas_artifact()
        unit = translation_unit(plan)
        return fetch_or_build(self._make_key(plan, unit), _SUFFIX, lambda path: self._build(plan, unit, path))

    def is_compiled(self, plan: Plan) -> bool:
        """See Compiler."""
        return plan.variant.is_library or holds(self._make_key(plan, translation_unit(plan)), _SUFFIX)

    def preprocess(self, text: SourceText, words: Sequence[str] = (), min_sm: int = 0) -> Preprocessed:
        """Preprocess a text that contains its local headers. Its macros are also expanded in `words`.

        Raises BuildError, DeviceError (no compiler).
        """
        with TemporaryDirectory(prefix="gemmbench-") as folder:
            return self._preprocess(write_input(text, words, min_sm), Path(folder))

    def compile_tryout(self, text: SourceText, found: Preprocessed, symbol: str, arguments: str) -> Path:
        """Build an executable that tries launches of a kernel in a preprocessed text. See tryouts.

        `arguments` is the argument list of the call. Raises Unsupported if the kernel needs a GPU, BuildError,
        BuildTimeout, DeviceError.
        """
        reached = find_reached(found.source, [symbol])
        if reason := find_unsupported(found.source, reached):
            raise Unsupported(reason)
        code = write_reached(found.source, reached, rewrite_words(reached))
        call = _TRYOUT.format(synchronises=str(has_barriers(reached)).lower(), symbol=symbol, arguments=arguments)
        head = f'#include "prelude.h"\n#include "tryout.h"\n{hoist_includes(text)}\n#include "words.h"'
        unit = f"{head}\nnamespace {{\n{code}\n}}{call}"
        key = content_key([unit, "tryout", *self._surroundings])
        made = fetch_or_build(key, _SUFFIX, lambda path: self._link("kernel", unit, found, path, _TRIED))
        return Path(made.path)

    def compile_watched(self, plan: Plan) -> Path:
        """Build an executable that watches the accesses of a plan's kernels. See watched.

        Raises Unsupported if the CPU cannot run them or the compiler has no hooks, BuildError, BuildTimeout,
        DeviceError.
        """
        if not _IS_GNU.search(self._probe.stderr):
            raise Unsupported(f"watching needs g++, and the C++ compiler is {self.version}; set CXX")
        unit = translation_unit(plan)
        key = content_key([self._make_key(plan, unit), "watched", *_WATCHED.kernel_flags])
        return Path(fetch_or_build(key, _SUFFIX, lambda path: self._build(plan, unit, path, _WATCHED)).path)

    def _preprocess(self, unit: str, folder: Path) -> Preprocessed:
        (folder / "text.cpp").write_text(unit, encoding="utf-8")
        made = folder / "text.ii"
        self._run_checked([*_DIALECT, "-w", "-I", str(PRELUDE), "-E", "text.cpp", "-o", made.name], folder)
        return read_output(made.read_text(encoding="utf-8", errors="replace"))

    def _make_key(self, plan: Plan, unit: str) -> str:
        """Return a key for the text before preprocessing, so that no process is needed to find cached code."""
        symbols = plan.symbols or ("gemm",)
        call = _entry_function(plan, symbols, ""), write_checks(plan, symbols)
        return content_key([unit, *call, *self._surroundings])

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
        """What the compiler may read outside the system's folders: its files, its search folders and the prelude."""
        named = [os.environ.get(name, "") for name in _VARIABLES]
        searched = [folder for value in named for folder in value.split(os.pathsep) if folder.startswith("/")]
        programs = [found for word in self._command if (found := shutil.which(word))]
        installed = [prefix for program in programs if (prefix := _find_prefix(Path(program).resolve()))]
        return [PRELUDE, *programs, *(Path(program).resolve() for program in programs), *installed, *searched]

    @cached_property
    def _probe(self) -> subprocess.CompletedProcess[str]:
        """The result of a test in which the compiler describes itself.

        It fails if it cannot compile for this processor.
        """
        return self._run([_NATIVE, "-v", "-E", "-x", "c++", os.devnull])

    @cached_property
    def _flags(self) -> tuple[str, ...]:
        common = (*_DIALECT, *_MEANING)
        return common if self._probe.returncode else (*common, _NATIVE)

    @cached_property
    def _surroundings(self) -> list[str]:
        """What else the machine code depends on: the compiler, the processor, the prelude and this module's options."""
        # The processor counts because machines that share the cache may be unable to run each other's code.
        prelude = sorted(path for path in PRELUDE.rglob("*") if path.is_file())
        texts = [path.read_text(encoding="utf-8") for path in (*_OWN_TEXTS, *prelude)]
        return [*self._command, self._probe.stderr, cpu_name(), *texts]

    def _compile_runtime(self, recipe: _Recipe) -> str:
        """Compile a runtime, which is the same for all kernels. It runs plans, tries arguments or watches accesses."""
        source = str(PRELUDE / recipe.runtime)

        def build(path: Path) -> Build:
            flags = [*self._flags, *recipe.runtime_flags, "-I", str(PRELUDE)]
            self._run_checked([*flags, "-c", source, "-o", path.name], path.parent)
            return Build()

        with self._runtime_lock:  # other threads wait for the one that builds it
            return fetch_or_build(content_key([source, *self._surroundings]), ".o", build).path

    def _run(self, arguments: list[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run the compiler behind walls. It can write only to `folder`. Raises BuildTimeout, DeviceError."""
        kept = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        kept |= {name: value for name, value in os.environ.items() if name.startswith("NIX_")}
        # ccache and distcc would need files and a network, which the walls block.
        environment = {**kept, "LC_ALL": "C", "CCACHE_DISABLE": "1", "TMPDIR": str(folder or "/nowhere")}
        writable = [folder] if folder else []
        command = walls.wrap_command([*self._command, *arguments], self._readable, writable, _LIMITS, self._limit)
        try:
            return run_limited(command, self._limit, folder, environment, COMPILER_NICENESS, most_output=_MOST_OUTPUT)
        except OSError as fault:
            raise DeviceError(f"cannot run the C++ compiler {shlex.join(self._command)}: {fault}") from None

    def _build(self, plan: Plan, unit: str, path: Path, recipe: _Recipe = _MEASURED) -> Build:
        folder, kind = path.parent, plan.variant.kind
        found = None if plan.variant.is_host_function else self._preprocess(unit, folder)
        unit = unit if found is None else _write_kernel(plan, found, recipe is _WATCHED)
        try:
            return self._link(kind, unit, found, path, recipe)
        except BuildError as fault:
            if plan.arguments or plan.network or not _OTHER_ARGUMENTS.search(first := str(fault).partition("\n")[0]):
                raise
            raise BuildError(str(fault).replace(first, f"{first}; {_list_expected(plan)}", 1)) from None

    def _link(self, kind: str, unit: str, found: Preprocessed | None, path: Path, recipe: _Recipe) -> Build:
        """Compile a unit that was generated from `found`, and link it with a runtime."""
        folder = path.parent
        (folder / f"{kind}.cpp").write_text(unit, encoding="utf-8")  # shared.ld refers to kernel.o by name
        try:
            flags = [*self._flags, *recipe.kernel_flags, "-I", str(PRELUDE)]
            self._run_checked([*flags, "-c", f"{kind}.cpp"], folder)
        except BuildError as fault:
            if found is None or isinstance(fault, BuildTimeout):
                raise
            raise _explain_error(str(fault), found) from None
        # Use a copy, because walls are given by file name and another process may replace the file in the cache.
        shutil.copyfile(self._compile_runtime(recipe), folder / _RUNTIME)
        script = f"-Wl,-T,{PRELUDE / recipe.script}"
        arguments = [*recipe.link_flags, f"{kind}.o", _RUNTIME, script, "-o", path.name]
        self._run_checked(arguments, folder)
        if (needed := _read_memory_size(path)) > walls.KERNEL_MEMORY:
            limit = walls.KERNEL_MEMORY >> 20
            raise BuildError(f"code and static arrays take {needed >> 20} MiB of memory, but the limit is {limit} MiB")
        return Build(shared=read_static_shared(path))

    def _run_checked(self, arguments: list[str], folder: Path) -> None:
        done = self._run(arguments, folder)
        made = folder / (arguments[-1] if "-o" in arguments else f"{Path(arguments[-1]).stem}.o")
        if done.returncode or not made.is_file():
            raise BuildError(_first_errors(done.stderr) or walls.explain_compiler(self._command, done, made.name))


def _explain_error(errors: str, found: Preprocessed) -> PlanError:
    """Explain the compiler's errors for a kernel that was compiled without its host code."""
    first, *others = errors.split("\n")
    if reason := explain_unknown(first):
        return Unsupported(reason)
    if name := _UNDECLARED.search(first):
        host = next((each for each in found.source.walk() if each.is_host_code and each.function_name == name[1]), None)
        if host:
            place = found.source.places.name(host.start)
            first = (
                f"{first.partition(': error: ')[0]}: error: a kernel calls {name[1]}, a function of the host ({place})"
            )
    return BuildError("\n".join([first + name_missing(found), *others]))


_UNDECLARED = re.compile(r"'(?:\w+::)*(\w+)' (?:was not declared|has not been declared|is not a member)")


def _find_prefix(program: Path) -> Path | None:
    """Return the folder with a compiler and its libraries, or None if it is the user's home or contains it."""
    prefix = program.parent.parent
    return None if program.parent.name != "bin" or Path.home().is_relative_to(prefix) else prefix


_LINKER = re.compile(r"(?:\S+-)?ld(?:\.\w+)?")


def _is_of_linker(line: str) -> bool:
    """Return whether a line is a message from a linker, such as `ld`, `/usr/bin/ld` or `x86_64-linux-gnu-ld.bfd`."""
    program, _, said = line.partition(": ")
    return _LINKER.fullmatch(program.rpartition("/")[2]) is not None and not said.startswith("warning: ")


_OF_ARGS = re.compile(r"^(.+?:\d+):\d+: error: static assertion failed: (args: )")


def _first_errors(output: str) -> str:
    lines = [line for line in output.splitlines() if not line.startswith("collect2:")]  # "ld returned 1 exit status"
    errors = [line for line in lines if re.search(r"\berror: |undefined reference", line)]
    errors = [each for each in errors if not _OTHER_ARGUMENTS.search(each)] or errors
    errors = [_OF_ARGS.sub(r"\1: \2", line) for line in errors]
    shown = (errors or [line for line in lines if _is_of_linker(line)] or lines)[:_MOST_ERRORS]
    if errors and (fix := suggest_fix(shown[0])):
        shown[0] += f"; {fix}"
    return "\n".join(shown)
