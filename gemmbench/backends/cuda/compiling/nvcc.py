"""nvcc, called directly: compiles plans to cubins with their build facts, to PTX and to SASS.

It needs the toolkit only; pycuda's compiler module loads the driver even to compile.
"""

from __future__ import annotations

import subprocess
import tempfile
from functools import cached_property
from importlib import metadata
from pathlib import Path

from gemmbench.analysis.time_limit import run_limited
from gemmbench.analysis.toolkit import find_cuobjdump, find_nvcc, nvcc_version
from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.cache.artifacts import content_key, fetch_or_build, holds
from gemmbench.backends.cuda.compiling import ptxas
from gemmbench.backends.source import compiler_text
from gemmbench.errors import BuildError, DeviceError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.limits import TimeLimits

_FLAGS = ("-O3", "-std=c++17", "-lineinfo")
_MOST_LINES = 10
_SUFFIX = ".cubin"


class NvccCompiler:
    """Compiles plans; safe to call from several threads, since each compilation is a process.

    nvcc is located at the first compilation, so a run of libraries does not need it. `limit` is
    seconds for one compilation.
    """

    def __init__(self, limit: float = TimeLimits.compile):
        self._limit = limit

    @cached_property
    def path(self) -> str:
        """Path of the compiler. Raises DeviceError."""
        return find_nvcc()

    def compile(self, plan: Plan) -> Artifact:
        """Compile the plan or find it in the cache; a library has nothing to compile.

        The facts are those of the last kernel that the plan launches. Raises BuildError with the
        compiler's own lines, BuildTimeout, or DeviceError without a compiler.
        """
        if plan.variant.launch is None:
            return Artifact(f"{plan.variant.name} {_find_cublas_release()}".strip(), "", Build())
        return self.cubin(compiler_text(plan), plan.arch, plan.symbols[-1], plan.variant.path)

    def cubin(self, text: str, arch: str, symbol: str, location: str) -> Artifact:
        """Compile `text` for `arch` ("90a").

        `symbol` is the kernel whose facts are kept, `location` its file.
        """

        def build(draft: Path) -> Build:
            output = self._run(["-cubin", "-Xptxas", "-v"], text, arch, draft, location)
            facts = ptxas.read_build_facts(output, symbol)
            if facts is None:
                others = ", ".join(ptxas.list_kernels(output)) or "none"
                raise BuildError(f"{location}: no extern \"C\" kernel '{symbol}'; kernels here: {others}")
            return facts

        return fetch_or_build(self._make_key(text, arch, symbol), _SUFFIX, build)

    def is_compiled(self, plan: Plan) -> bool:
        """As Compiler."""
        if plan.variant.launch is None:
            return True
        return holds(self._make_key(compiler_text(plan), plan.arch, plan.symbols[-1]), _SUFFIX)

    def _make_key(self, text: str, arch: str, symbol: str) -> str:
        return content_key(["nvcc", nvcc_version(self.path), *_FLAGS, arch, symbol, text])

    def ptx(self, plan: Plan) -> str:
        """The PTX of a plan. Raises as compile does."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "kernel.ptx"
            self._run(["-ptx"], compiler_text(plan), plan.arch, out, plan.variant.path)
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

    def _run(self, mode: list[str], text: str, arch: str, out: Path, location: str) -> str:
        """Compile `text` to `out` and return the compiler's output."""
        source = out.with_suffix(".cu")
        source.write_text(text, encoding="utf-8")
        # With -arch=sm_90a some versions of nvcc would also compile for plain sm_90.
        code = "sm" if "-cubin" in mode else "compute"
        target = f"-gencode=arch=compute_{arch},code={code}_{arch}"
        command = [self.path, *mode, *_FLAGS, target, "-o", str(out), str(source)]
        done = run_limited(command, self._limit)
        if done.returncode:
            raise BuildError(self._explain_errors(done.stderr or done.stdout, arch, location))
        return done.stderr + done.stdout

    def _explain_errors(self, output: str, arch: str, location: str) -> str:
        if "Unsupported gpu architecture" in output:
            return (
                f"{location}: nvcc {nvcc_version(self.path)} does not compile for sm_{arch}; "
                "name the nvcc of another toolkit in CUDACXX"
            )
        return "\n".join([f"{location} does not compile:", *ptxas.extract_errors(output)[:_MOST_LINES]])


def _find_cublas_release() -> str:
    """The release of NVIDIA's cuBLAS wheel, "" if cuBLAS does not come from a wheel."""
    for wheel in ("nvidia-cublas", "nvidia-cublas-cu13", "nvidia-cublas-cu12"):
        try:
            return metadata.version(wheel)
        except metadata.PackageNotFoundError:
            continue
    return ""
