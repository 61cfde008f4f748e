"""From a plan to an executable: kernel text, prelude and runtime, through the C++ compiler.

The text of a kernel is used as it is, except `extern __shared__`, which C++ does not have. It is in
an unnamed namespace, so that no other code shares its static storage.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from functools import cached_property
from pathlib import Path

from gemmbench.analysis.time_limit import run_limited
from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.cache.artifacts import content_key, fetch_or_build, holds
from gemmbench.backends.cpu import library
from gemmbench.backends.cpu.device import cpu_name
from gemmbench.backends.cpu.executable_file import read_static_shared
from gemmbench.backends.cpu.support import ALIGNMENT, has_barriers
from gemmbench.backends.source import compiler_text
from gemmbench.errors import BuildError, DeviceError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.limits import TimeLimits

PRELUDE = Path(__file__).parent / "prelude"

# nvcc lets kernels read memory through other types than it was written with.
_FLAGS = ("-std=c++17", "-O3", "-ffp-contract=fast", "-fno-strict-aliasing", "-w", "-fdiagnostics-color=never")
_NATIVE = "-march=native"
_MOST_ERRORS = 3
_SUFFIX = ".kernel"

_DYNAMIC_SHARED = re.compile(
    rf"\bextern\s+({ALIGNMENT.pattern}\s*)?__shared__\b(?P<kind>[^;{{}}]*?)(?P<name>\w+)\s*\[\s*\]\s*;"
)

_CALL = """
#line 1 "call of {symbols}"
namespace gb {{
extern const bool synchronises = {synchronises};
void entry(const Arguments& a) {{
    switch (a.step) {{
{calls}
    }}
}}
}}
"""
_CASE = "        case {step}: return {symbol}({arguments});"
_GEMM = "a.M, a.N, a.K, TACC(a.alpha), (const TA*)a.A, (const TB*)a.B, TACC(a.beta), (TC*)a.C"
_TRAILING = {"bias": ", (const TC*)a.bias", "workspace": ", (void*)a.workspace"}
_NETWORK = "a.M, (const TA*)a.A, (const TB*)a.B, (TC*)a.C"


def translation_unit(plan: Plan) -> str:
    """The C++ text of a plan's kernel and of the function through which the runtime calls it."""
    variant, text = plan.variant, compiler_text(plan)
    if variant.is_host_function:
        return '#include "abi.h"\n' + text + _entry_function(plan, "false")
    head, line, body = text.partition('#line 1 "')
    waits = str(has_barriers(body)).lower()
    call = _entry_function(plan, waits)
    body = _DYNAMIC_SHARED.sub(_replace_dynamic_shared, body)
    return f'#include "prelude.h"\n{head}#include "words.h"\nnamespace {{\n{line}{body}\n}}{call}'


def _entry_function(plan: Plan, synchronises: str) -> str:
    arguments, symbols = _NETWORK if plan.network else _GEMM, plan.symbols or ("gemm",)
    arguments += "".join(_TRAILING[name] for name in plan.variant.trailing)
    calls = [_CASE.format(step=step, symbol=symbol, arguments=arguments) for step, symbol in enumerate(symbols)]
    return _CALL.format(symbols=", ".join(symbols), synchronises=synchronises, calls="\n".join(calls))


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
            return library.openblas_artifact()
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
        return self._run(["--version"]).stdout.partition("\n")[0]

    @cached_property
    def _command(self) -> list[str]:
        if chosen := os.environ.get("CXX"):
            return shlex.split(chosen)
        for name in ("g++", "clang++", "c++"):
            if shutil.which(name):
                return [name]
        raise DeviceError("the cpu device needs a C++ compiler: apt-get install g++, or set CXX")

    @cached_property
    def _flags(self) -> tuple[str, ...]:
        accepted = self._run([_NATIVE, "-E", "-x", "c++", os.devnull]).returncode == 0
        return (*_FLAGS, _NATIVE) if accepted else _FLAGS

    @cached_property
    def _surroundings(self) -> list[str]:
        # Includes the processor: machines that share the cache may not run each other's code.
        texts = [path.read_text(encoding="utf-8") for path in sorted(PRELUDE.iterdir())]
        return [*self._command, *self._flags, self.version, cpu_name(), *texts]

    @cached_property
    def _runtime(self) -> str:
        """The compiled runtime, the same for every kernel."""
        source = str(PRELUDE / "runtime.cpp")

        def build(path: Path) -> Build:
            self._run_checked([*self._flags, "-c", source, "-o", path.name], path.parent)
            return Build()

        return fetch_or_build(content_key([source, *self._surroundings]), ".o", build).path

    def _run(self, arguments: list[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LC_ALL": "C"}
        command = [*self._command, *arguments]
        try:
            return run_limited(command, self._limit, folder, environment)
        except OSError as fault:
            raise DeviceError(f"cannot run the C++ compiler {shlex.join(self._command)}: {fault}") from None

    def _build(self, kind: str, unit: str, path: Path) -> Build:
        folder = path.parent
        (folder / f"{kind}.cpp").write_text(unit, encoding="utf-8")  # shared.ld knows kernel.o by its name
        self._run_checked([*self._flags, "-I", str(PRELUDE), "-c", f"{kind}.cpp"], folder)
        self._run_checked([f"{kind}.o", self._runtime, f"-Wl,-T,{PRELUDE / 'shared.ld'}", "-o", path.name], folder)
        return Build(shared=read_static_shared(path))

    def _run_checked(self, arguments: list[str], folder: Path) -> None:
        done = self._run(arguments, folder)
        if done.returncode:
            raise BuildError(_first_errors(done.stderr))


def _first_errors(output: str) -> str:
    lines = output.splitlines()
    errors = [line for line in lines if re.search(r"\berror: |undefined reference", line)]
    return "\n".join((errors or lines)[:_MOST_ERRORS])
