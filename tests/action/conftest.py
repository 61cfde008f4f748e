"""A small runner for action.yml: it runs the shell steps as a runner of GitHub Actions would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

KERNEL = """/*---
summary: a kernel with a past
order: 5
symbol: gemm
precisions: [f32]
layouts: [nn]
grid: ["cdiv(N, 16)", "cdiv(M, 16)"]
block: [16, 16]
---*/
// one element of C per thread
extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M || j >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
    C[i * N + j] = beta == 0 ? alpha * sum : alpha * sum + beta * C[i * N + j];
}
"""
ACTION = Path(__file__).parents[2] / "action.yml"


@dataclass
class Step:
    """What a step of the action printed, and its exit code."""

    code: int
    output: str


@dataclass
class ActionRun:
    """The steps that ran, by name, and what they left behind."""

    home: Path
    base: str
    steps: dict[str, Step]

    @property
    def output(self) -> str:
        """What all steps printed."""
        return "\n".join(step.output for step in self.steps.values())

    @property
    def results(self) -> Path:
        """The folder that the artifact keeps."""
        return self.home / "checkout/gemmbench-results"

    @property
    def summary(self) -> Path:
        """The job summary."""
        return self.home / "summary.md"

    @property
    def installed(self) -> str:
        """The arguments of pip."""
        return (self.home / "pip.log").read_text().strip()


def _git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    call = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()


def _make_checkout(home: Path, change: tuple[str, str], files: dict[str, str]) -> str:
    """Clone the last of two commits; returns the first, which the clone does not have.

    The last one adds `files`, whose names may have the hash of the first: `{base}`.
    """
    origin = home / "origin"
    origin.mkdir(parents=True)
    _git(home, "init", "-q", str(origin))
    _commit(origin, {"kernels/mine.cu": KERNEL})
    base = _git(origin, "rev-parse", "HEAD")
    named = {name.format(base=base): text for name, text in files.items()}
    _commit(origin, {"kernels/mine.cu": KERNEL.replace(*change), **named})
    _git(home, "clone", "-q", "--depth=1", origin.as_uri(), "checkout")
    return base


def _commit(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    _git(folder, "add", ".")
    _git(folder, "commit", "-qm", "a change")


def _run_steps(home: Path, inputs: dict[str, str], base: str) -> ActionRun:
    action = yaml.safe_load(ACTION.read_text())
    names = {f"inputs.{name}": declared.get("default", "") for name, declared in action["inputs"].items()}
    names |= {f"inputs.{name}": value for name, value in inputs.items()}
    names |= {"github.event.pull_request.base.sha": base, "steps.install.outcome": "success"}
    steps = [step for step in action["runs"]["steps"] if "run" in step and _evaluate(step.get("if", "true"), names)]
    (home / "path").write_text("")
    return ActionRun(home, base, {step["name"]: _run_step(home, step, names) for step in steps})


def _run_step(home: Path, step: dict[str, Any], names: dict[str, str]) -> Step:
    """Run a step as a runner does: with bash, in the checkout, with what earlier steps put on the path."""
    (home / "step.sh").write_text(step["run"])
    added = (home / "path").read_text().split("\n")[::-1]
    environment = {
        **os.environ,
        **{name: str(_evaluate(value, names)) for name, value in step["env"].items()},
        "PATH": os.pathsep.join(filter(None, [*added, str(_make_python(home)), os.environ["PATH"]])),
        "PYTHONPATH": os.pathsep.join([str(ACTION.parent), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(ACTION.parent),
        "GITHUB_PATH": str(home / "path"),
        "GITHUB_STEP_SUMMARY": str(home / "summary.md"),
        "RUNNER_TEMP": str(home / "temp"),
    }
    call = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(home / "step.sh")]
    done = subprocess.run(call, cwd=home / "checkout", env=environment, capture_output=True, text=True, timeout=300)
    return Step(done.returncode, done.stdout + done.stderr)


def _evaluate(expression: str, names: dict[str, str]) -> object:
    """An expression of GitHub's, of the few kinds that the action uses."""
    text = re.sub(r"^\$\{\{(.*)\}\}$", r"\1", str(expression).strip())
    text = text.replace("cancelled()", "False").replace("&&", " and ").replace("||", " or ").replace("true", "True")
    text = re.sub(r"!(?!=)", " not ", text)
    return eval(re.sub(r"[a-z_]+(?:\.[a-z_-]+)+", lambda match: repr(names[match[0]]), text).strip())


def _make_python(home: Path) -> Path:
    """A `python3` whose environments have this gemmbench, and a `pip` that only notes what it should install."""
    folder = home / "python"
    folder.mkdir(exist_ok=True)
    program = folder / "python3"
    program.write_text(f"""#!/bin/sh -e
test "$1 $2 $3" = "-I -m venv"
mkdir -p "$4/bin"
printf '#!/bin/sh\\necho "$@" >> {home}/pip.log\\n' > "$4/bin/pip"
printf '#!/bin/sh\\nexec {sys.executable} -m gemmbench "$@"\\n' > "$4/bin/gemmbench"
chmod +x "$4/bin/pip" "$4/bin/gemmbench"
""")
    program.chmod(0o755)
    return folder


@pytest.fixture
def run_action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ActionRun]:
    """Run the shell steps of action.yml in a shallow clone whose only kernel has a past; nothing is installed."""
    for name in [name for name in os.environ if name.startswith("GEMMBENCH_") and name != "GEMMBENCH_CACHE_DIR"]:
        monkeypatch.delenv(name)

    def run(
        inputs: dict[str, str],
        base: bool,
        change: tuple[str, str] = ("//", "// changed:"),
        files: dict[str, str] | None = None,
    ) -> ActionRun:
        home = tmp_path / f"job{len(list(tmp_path.glob('job*')))}"
        sha = _make_checkout(home, change, files or {})
        return _run_steps(home, inputs, sha if base else "")

    return run


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """A script for the fake device; returns what the input `device` takes."""

    def write(**content: object) -> str:
        path = tmp_path / "script.yaml"
        path.write_text(yaml.safe_dump(content))
        return f"fake:{path}"

    return write
