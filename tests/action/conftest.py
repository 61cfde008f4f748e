"""A small runner of GitHub Actions: it runs the shell steps of action.yml and of workflows, in a clean environment.

Nothing is replaced: pip installs what the steps name, from the index or the cache that pip is set up for here.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "action.yml"
_KEPT = re.compile(r"PIP_|SSL_|GEMMBENCH_CACHE_DIR$|LD_LIBRARY_PATH$|.*_proxy$", re.IGNORECASE)
"""Variables that say how this machine reaches an index or its driver, and where compiled kernels lie."""
_STATUS = re.compile(r"\b(always|cancelled|failure|success)\(\)")
_UNREACHABLE = ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "No route to host")


@dataclass
class Step:
    """What a step printed, and its exit code."""

    code: int
    output: str


@dataclass
class Installed:
    """The first step of the action, which is not run again: what it printed, put out and put on the path."""

    repository: Path
    step: Step
    outputs: dict[str, str]
    path: list[str]


@dataclass
class Job:
    """A job under way: its folders, what its steps set for later ones, and what they printed."""

    home: Path
    repository: Path
    base: str = ""
    installed: Installed | None = None
    variables: dict[str, str] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)
    steps: dict[str, Step] = field(default_factory=dict)
    artifacts: dict[str, Path] = field(default_factory=dict)

    @property
    def checkout(self) -> Path:
        """Where the steps run."""
        return self.home / "checkout"

    @property
    def output(self) -> str:
        """What all steps printed."""
        return "\n".join(step.output for step in self.steps.values())

    @property
    def codes(self) -> list[int]:
        """The exit codes of the steps, in their order."""
        return [step.code for step in self.steps.values()]

    @property
    def results(self) -> Path:
        """The folder that the artifact keeps."""
        return self.checkout / "gemmbench-results"

    @property
    def summary(self) -> str:
        """The job summary."""
        return (self.home / "summary.md").read_text()

    def run(self, steps: list[dict[str, Any]], names: Mapping[str, str]) -> dict[str, str]:
        """Run steps with these values of their contexts; returns the values and what the steps put out."""
        known, fine = dict(names), True
        for step in steps:
            condition = str(step.get("if", "success()"))
            condition = condition if _STATUS.search(condition) else f"success() && ({_strip(condition)})"
            if not evaluate(condition, {**known, "success()": str(fine)}):
                continue
            inputs = {name: fill(_as_text(value), known) for name, value in step.get("with", {}).items()}
            if "run" in step and step.get("id") == "install" and self.installed:
                self.steps[step["name"]] = self.installed.step
                self.path += self.installed.path
                known |= self.installed.outputs
                fine = fine and self.installed.step.code == 0
            elif "run" in step:
                done = self._run_shell(step, known)
                self.steps[step.get("name", step["run"].strip())] = done
                fine = fine and done.code == 0
                outputs = dict(line.split("=", 1) for line in _take_lines(self.home / "output"))
                known |= {f"steps.{step.get('id')}.outputs.{name}": value for name, value in outputs.items()}
            elif is_ours(step):
                fine = self._run_action(step.get("id"), inputs, known) and fine
            elif step["uses"].startswith("actions/upload-artifact@"):
                self.artifacts[inputs["name"]] = self.checkout / inputs["path"]
        return known

    def _run_action(self, step: str | None, inputs: dict[str, str], names: dict[str, str]) -> bool:
        """Run the steps of action.yml; returns whether all ended well."""
        action = yaml.safe_load(ACTION.read_text())
        assert set(inputs) <= set(action["inputs"])
        inside = {name: value for name, value in names.items() if name.startswith("github.")}
        inside |= {
            f"inputs.{name}": inputs.get(name, each.get("default", "")) for name, each in action["inputs"].items()
        }
        before = len(self.steps)
        after = self.run(action["runs"]["steps"], inside)
        outputs = {name: fill(each["value"], after) for name, each in action["outputs"].items()}
        names |= {f"steps.{step}.outputs.{name}": value for name, value in outputs.items()}
        return not any(self.codes[before:])

    def _run_shell(self, step: dict[str, Any], names: dict[str, str]) -> Step:
        """Run a step as a runner does: with bash, in the checkout, with what earlier steps put on the path."""
        (self.home / "step.sh").write_text(step["run"])
        given = {name: fill(str(value), names) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(self.home / "step.sh")],
            cwd=self.checkout,
            env={**self._clean_environment(), **given},
            capture_output=True,
            text=True,
            timeout=1800,
        )
        self.path[:0] = _take_lines(self.home / "path")
        return Step(done.returncode, done.stdout + done.stderr)

    def _clean_environment(self) -> dict[str, str]:
        """What a runner's service starts with, and what this machine needs besides."""
        python = Path(sys.base_prefix) / "bin"
        user, temp = self.repository.parent / "user", self.home / "temp"
        user.mkdir(exist_ok=True)
        temp.mkdir(exist_ok=True)
        return {
            **{name: value for name, value in os.environ.items() if _KEPT.match(name)},
            "PATH": os.pathsep.join([*self.path, str(python), "/usr/local/bin", "/usr/bin", "/bin"]),
            "HOME": str(user),
            "LANG": "C.UTF-8",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(self.repository),
            "GITHUB_OUTPUT": str(self.home / "output"),
            "GITHUB_PATH": str(self.home / "path"),
            "GITHUB_STEP_SUMMARY": str(self.home / "summary.md"),
            "RUNNER_TEMP": str(temp),
            **self.variables,
        }


def _take_lines(path: Path) -> list[str]:
    """The lines of a file that steps append to, which is emptied."""
    lines = path.read_text().splitlines() if path.exists() else []
    path.write_text("")
    return lines


def is_ours(step: Mapping[str, Any]) -> bool:
    """Whether a step is this action."""
    return step.get("uses", "").startswith(("./", "OWNER/"))


def _as_text(value: object) -> str:
    """A value of YAML as a runner passes it on."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _strip(expression: str) -> str:
    return re.sub(r"^\$\{\{(.*)\}\}$", r"\1", expression.strip()).strip()


def evaluate(expression: str, names: Mapping[str, str]) -> object:
    """An expression of GitHub's, of the few kinds that are used here; a name without a value is an empty text."""
    text = _strip(expression).replace("always()", "True").replace("cancelled()", "False")
    text = text.replace("success()", names.get("success()", "True")).replace("&&", " and ").replace("||", " or ")
    text = re.sub(r"!(?!=)", " not ", text)
    return eval(re.sub(r"\b[a-z_]+(?:\.[a-z_-]+)+", lambda match: repr(names.get(match[0], "")), text).strip())


def fill(text: str, names: Mapping[str, str]) -> str:
    """A text with the values of its expressions."""
    return re.sub(r"\$\{\{(.*?)\}\}", lambda match: str(evaluate(match[1], names)), text)


def _git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    call = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()


def _make_checkout(home: Path, change: tuple[str, str], files: dict[str, str], folder: str, whole: bool) -> str:
    """Clone the last of two commits; returns the first, which the clone has only if it is `whole`.

    The last one adds `files`, whose names may have the hash of the first: `{base}`.
    """
    origin = home / "origin"
    origin.mkdir(parents=True)
    _git(home, "init", "-q", str(origin))
    _commit(origin, {f"{folder}/mine.cu": KERNEL})
    base = _git(origin, "rev-parse", "HEAD")
    named = {name.format(base=base): text for name, text in files.items()}
    _commit(origin, {f"{folder}/mine.cu": KERNEL.replace(*change), **named})
    _git(home, "clone", "-q", *([] if whole else ["--depth=1"]), origin.as_uri(), "checkout")
    return base


def _commit(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    _git(folder, "add", ".")
    _git(folder, "commit", "-qm", "a change")


def copy_repository(folder: Path, but: tuple[str, ...] = ()) -> Path:
    """The files that git knows or would add, without history, as a runner downloads an action."""
    listed = _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    for name in filter(None, listed.split("\0")):
        if not name.startswith(but) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of the tests share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "action"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def install(shared: Path) -> Callable[..., Installed]:
    """Run the first step of the action for a device, once."""

    def run(device: str = "cpu", extras: str = "") -> Installed:
        kind = "cuda" if device.startswith("cuda") else "cpu"
        home = shared / f"{kind}-{extras.replace(',', '-')}"
        with (shared / f"{home.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (home / "done.json").exists():
                _install(home, kind, extras)
        kept = json.loads((home / "done.json").read_text())
        step = Step(kept["code"], kept["output"])
        if step.code and any(why in step.output for why in _UNREACHABLE) and "CI" not in os.environ:
            pytest.skip("pip reaches no package index; name one in PIP_INDEX_URL, or a folder in PIP_FIND_LINKS")
        return Installed(home / "repository", step, kept["outputs"], kept["path"])

    return run


def _install(home: Path, device: str, extras: str) -> None:
    (home / "checkout").mkdir(parents=True, exist_ok=True)
    repository = copy_repository(home / "repository", but=("docs/", "results/", "tests/"))
    job = Job(home, repository, variables=find_downloads())
    step = yaml.safe_load(ACTION.read_text())["runs"]["steps"][0]
    known = job.run([step], {"inputs.device": device, "inputs.extras": extras})
    outputs = {name: value for name, value in known.items() if name.startswith("steps.")}
    kept = {"outputs": outputs, "path": job.path, **vars(job.steps[step["name"]])}
    (home / "done.json").write_text(json.dumps(kept))


def find_downloads() -> dict[str, str]:
    """Where pip keeps downloads here: in a home that is clean it would load them again."""
    call = [sys.executable, "-m", "pip", "cache", "dir"]
    found = subprocess.run(call, capture_output=True, text=True).stdout.strip()
    return {"PIP_CACHE_DIR": found} if found else {}


@pytest.fixture
def run_step(tmp_path: Path) -> Callable[..., Step]:
    """Run one step of the action alone, with these inputs and variables."""

    def run(step: dict[str, Any], inputs: dict[str, str], variables: dict[str, str]) -> Step:
        (tmp_path / "checkout").mkdir(exist_ok=True)
        job = Job(tmp_path, ROOT, variables=variables)
        job.run([step], {f"inputs.{name}": value for name, value in inputs.items()})
        return job.steps[step["name"]]

    return run


@pytest.fixture
def run_job(tmp_path: Path, install: Callable[..., Installed]) -> Callable[..., Job]:
    """Run a job of a workflow in a clone of a repository whose only kernel has a past; shallow, unless it asks for all.

    The step that installs gemmbench runs once for all jobs that install the same.
    """

    def run(
        job: dict[str, Any],
        base: bool,
        change: tuple[str, str] = ("//", "// changed:"),
        files: dict[str, str] | None = None,
        folder: str = "kernels",
    ) -> Job:
        home = tmp_path / f"job{len(list(tmp_path.glob('job*')))}"
        whole = any(step.get("with", {}).get("fetch-depth") == 0 for step in job["steps"])
        sha = _make_checkout(home, change, files or {}, folder, whole)
        (inputs,) = [step.get("with", {}) for step in job["steps"] if is_ours(step)]
        installed = install(inputs.get("device", "cuda"), inputs.get("extras", ""))
        done = Job(home, installed.repository, sha, installed)
        done.run(job["steps"], {"github.event.pull_request.base.sha": sha if base else ""})
        return done

    return run


@pytest.fixture
def run_whole_job(tmp_path: Path) -> Callable[..., Job]:
    """Run a job of a workflow of this repository, from its first step, in a checkout of it."""

    def run(job: dict[str, Any], names: dict[str, str], variables: dict[str, str]) -> Job:
        checkout = copy_repository(tmp_path / "checkout")
        _git(tmp_path, "init", "-q", "checkout")
        _git(checkout, "add", ".")
        _git(checkout, "commit", "-qm", "all")
        done = Job(tmp_path, checkout, variables={**find_downloads(), **variables})
        done.run(job["steps"], {"github.sha": "0" * 40, **names})
        return done

    return run


@pytest.fixture
def run_action(run_job: Callable[..., Job]) -> Callable[..., Job]:
    """Run the action as the only step of a job."""

    def run(inputs: dict[str, str], base: bool, **repository: Any) -> Job:
        return run_job({"steps": [{"uses": "./", "with": inputs}]}, base, **repository)

    return run


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """A script for the fake device; returns what the input `device` takes."""

    def write(**content: object) -> str:
        path = tmp_path / "script.yaml"
        path.write_text(yaml.safe_dump(content))
        return f"fake:{path}"

    return write
