"""nvcc, called directly: compiles plans to cubins with their build facts, to PTX and to SASS.

It needs the toolkit only; pycuda's compiler module loads the driver even to compile.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import replace
from functools import cached_property
from importlib import metadata
from pathlib import Path

from gemmbench.analysis.toolkit import COMPILER_NICENESS, find_cuobjdump, find_nvcc, nvcc_version, run_limited
from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.cache import header_lists
from gemmbench.backends.cache.artifacts import content_key, fetch_or_build, holds
from gemmbench.backends.cuda.compiling import kernel_names, ptxas
from gemmbench.backends.cuda.compiling.unit import LAUNCHER, MODES, CompilerUnit, make_unit, write_text
from gemmbench.backends.source import suggest_fix
from gemmbench.errors import BuildError, DeviceError
from gemmbench.planning.files import display_path
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.overrides import TimeLimits

_MOST_LINES = 10
_PLACE = re.compile(r"^/[^:]+(?=:\d+)")


class NvccCompiler:
    """Compiles plans; safe to call from several threads, since each compilation is a process.

    nvcc is located at the first compilation, so a run of libraries does not need it. `limit` is
    seconds for one compilation, which runs with this `niceness`.
    """

    def __init__(self, limit: float = TimeLimits.compile, niceness: int = COMPILER_NICENESS):
        self._limit, self._niceness = limit, niceness

    @cached_property
    def path(self) -> str:
        """Path of the compiler. Raises DeviceError."""
        return find_nvcc()

    def compile(self, plan: Plan) -> Artifact:
        """Compile the plan or find it in the cache; a library and a Python function have nothing to compile.

        The facts are those of the last kernel that the plan launches; a launcher has some if its code has
        only one kernel. Raises BuildError with the compiler's own lines, BuildTimeout, or DeviceError
        without a compiler.
        """
        if plan.variant.is_python:
            return Artifact(content_key(["python", plan.variant.text]), plan.variant.path, Build())
        if plan.variant.is_library:
            return Artifact(f"{plan.variant.name} {_find_cublas_release()}".strip(), "", Build())
        return self._fetch(make_unit(plan))

    def cubin(self, text: str, arch: str, symbol: str, location: str) -> Artifact:
        """Compile `text` for `arch` ("90a").

        `symbol` is the kernel whose facts are kept, `location` its file.
        """
        return self._fetch(CompilerUnit(text, arch, (symbol,), location))

    def _fetch(self, unit: CompilerUnit) -> Artifact:
        return fetch_or_build(self._make_key(unit), unit.suffix, lambda draft: self._build(unit, draft))

    def _build(self, unit: CompilerUnit, draft: Path) -> Build:
        output = self._run([*MODES[unit.suffix], "-Xptxas", "-v"], unit, draft)
        kernels = ptxas.list_kernels(output)
        if unit.suffix == LAUNCHER:
            return (ptxas.read_build_facts(output, kernels[0]) if len(kernels) == 1 else None) or Build()
        names = kernel_names.find_names(unit.symbols, kernels)
        facts = ptxas.read_build_facts(output, names[-1]) if names else None
        if names is None or facts is None:
            others = ", ".join(kernel_names.list_own(kernels)) or "none"
            raise BuildError(f"{unit.location}: no kernel '{unit.symbols[-1]}'; kernels here: {others}")
        return facts if names == unit.symbols else replace(facts, symbols=names)

    def is_compiled(self, plan: Plan) -> bool:
        """As Compiler."""
        if plan.variant.is_library or plan.variant.is_python:
            return True
        unit = make_unit(plan)
        if not unit.headers:
            return holds(self._text_key(unit), unit.suffix)
        return header_lists.find_key(self._text_key(unit), unit.suffix) is not None

    def _make_key(self, unit: CompilerUnit) -> str:
        """The key of the code of a text; it depends on what is in the headers that the text reads."""
        key = self._text_key(unit)
        if not unit.headers:
            return key
        return header_lists.find_key(key, unit.suffix) or header_lists.make_key(key, lambda: self._list_headers(unit))

    def _text_key(self, unit: CompilerUnit) -> str:
        return content_key(["nvcc", nvcc_version(self.path), *unit.options, unit.arch, *unit.symbols[-1:], unit.text])

    def _list_headers(self, unit: CompilerUnit) -> list[str]:
        """Every file that nvcc reads for a unit. Raises as compile does."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "kernel.d"
            self._run(["-M"], unit, out)
            _, _, files = out.read_text(encoding="utf-8", errors="surrogateescape").partition(": ")
            names = [name.replace("\\ ", " ") for name in re.findall(r"(?:\\ |[^\s\\])+", files)]
            return [name for name in names if not name.startswith(folder)]

    def text(self, plan: Plan) -> str:
        """The text that is compiled, with its local headers in it. Raises BuildError."""
        return write_text(plan)

    def ptx(self, plan: Plan) -> str:
        """The PTX of a plan. Raises as compile does."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "kernel.ptx"
            self._run(["-ptx"], make_unit(plan), out)
            return out.read_text(encoding="utf-8")

    def sass(self, plan: Plan) -> str:
        """The machine code of a plan, disassembled.

        Raises as compile does, or DeviceError without cuobjdump.
        """
        command = [find_cuobjdump(), "--dump-sass", self.compile(plan).path]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        if done.returncode:
            raise DeviceError(f"cuobjdump failed: {done.stderr.strip()}")
        return done.stdout

    def _run(self, mode: list[str], unit: CompilerUnit, out: Path) -> str:
        """Compile the text of `unit` to `out` and return the compiler's output."""
        source = out.with_suffix(".cu")
        source.write_text(unit.text, encoding="utf-8")
        # With -arch=sm_90a some versions of nvcc would also compile for plain sm_90.
        code = "compute" if "-ptx" in mode else "sm"
        target = f"-gencode=arch=compute_{unit.arch},code={code}_{unit.arch}"
        command = [self.path, *mode, *unit.options, target, "-o", str(out), str(source)]
        done = run_limited(command, self._limit, niceness=self._niceness)
        if done.returncode:
            output = done.stderr or done.stdout
            raise BuildError(unit.explain(output) or self._explain_errors(output, unit, source))
        return done.stderr + done.stdout

    def _explain_errors(self, output: str, unit: CompilerUnit, source: Path) -> str:
        if "Unsupported gpu architecture" in output:
            return (
                f"{unit.location}: nvcc {nvcc_version(self.path)} does not compile for sm_{unit.arch}; "
                "name the nvcc of another toolkit in CUDACXX"
            )
        errors = _shorten_paths(ptxas.extract_errors(output.replace(str(source), unit.location)))
        fix = suggest_fix(ptxas.find_first_error(errors))
        return "\n".join([f"{unit.location} does not compile{fix and f'; {fix}'}:", *errors[:_MOST_LINES]])


def _shorten_paths(lines: list[str]) -> list[str]:
    """Lines with files as other messages name them."""
    return [_PLACE.sub(lambda place: display_path(Path(place[0])), line) for line in lines]


def _find_cublas_release() -> str:
    """The release of NVIDIA's cuBLAS wheel, "" if cuBLAS does not come from a wheel."""
    for wheel in ("nvidia-cublas", "nvidia-cublas-cu13", "nvidia-cublas-cu12"):
        try:
            return metadata.version(wheel)
        except metadata.PackageNotFoundError:
            continue
    return ""
