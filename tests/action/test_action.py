"""The composite action: its steps run in a checkout as a runner would run them, on each kind of device."""

import os
import re
import shutil
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from gemmbench.backends.cuda.system import probe

ROOT = Path(__file__).resolve().parents[2]
INPUTS = {"variants": "mine", "kernels": "kernels", "sizes": "16", "options": "--rounds 10 --cache hot"}
STEPS = [
    "Install gemmbench",
    "Verify and measure",
    "Check against the base",
    "Write the report page",
    "Name the artifact",
]


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and (why := probe.why_no_gpu()):
        pytest.skip(why)
    return request.param


@pytest.fixture
def install_step(run_step):
    """Run the step that installs gemmbench, with these inputs and variables."""
    step = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][0]
    return lambda inputs, **variables: run_step(step, inputs, variables)


def read_lock(name):
    """The versions of a lock file for this Python."""
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    requirements = [Requirement(line.rstrip("\\ ")) for line in lines if re.match(r"\w", line)]
    chosen = [each for each in requirements if each.marker is None or each.marker.evaluate()]
    return {each.name: str(each.specifier).removeprefix("==") for each in chosen}


def list_installed(python):
    """The versions of the packages of an environment."""
    (site,) = Path(python).parents[1].glob("lib/python*/site-packages")
    found: list[Distribution] = list(distributions(path=[str(site)]))
    return {re.sub(r"[-_.]+", "-", each.name).lower(): each.version for each in found}


def test_a_pull_request_is_measured_checked_and_kept(run_action, device):
    run = run_action({**INPUTS, "device": device, "margin": "99%"}, base=True)
    assert {name: step.code for name, step in run.steps.items()} == dict.fromkeys(STEPS, 0), run.output
    kept = {path.name for path in run.results.iterdir()}
    assert {"rows.csv", "junit.xml", "report.html"} <= kept
    assert sorted(path.stem.split("-")[2] for path in run.results.glob("*.jsonl")) == ["check", "quick"]
    assert "### M = 16, N = 16, K = 16" in run.summary and f"check against {run.base} (" in run.summary
    assert "mine" in (run.results / "rows.csv").read_text()
    assert run.artifacts == {"gemmbench": run.results}


def test_what_is_installed_is_what_the_lock_names(install, device):
    installed = install(device)
    assert installed.step.code == 0, installed.step.output
    found = list_installed(installed.outputs["steps.install.outputs.python"])
    expected = {**read_lock("base"), **(read_lock("cuda") if device == "cuda" else {})}
    assert found == {**expected, "pip": found["pip"], "gemmbench": found["gemmbench"]}
    assert ("pycuda" in found) == (device == "cuda")


def test_a_runner_without_cuda_is_told_where_nvcc_was_looked_for(install_step, tmp_path):
    if shutil.which("nvcc", path="/usr/bin:/bin"):
        pytest.skip("nvcc is in /usr/bin here")
    for inputs in ({"device": "cuda"}, {"device": "cuda:1"}, {"device": "cpu", "extras": "cuda"}):
        step = install_step(inputs, CUDA_PATH=str(tmp_path), PATH=os.defpath)
        said = f"nvcc: not on the PATH, nor in {tmp_path}/bin; install a CUDA toolkit, or write device: cpu\n"
        assert (step.code, step.output) == (2, said)


def test_a_python_that_is_too_old_is_refused(install_step, tmp_path):
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    step = install_step({"device": "cpu"}, PATH=f"{tmp_path}:{os.defpath}")
    assert (step.code, step.output) == (
        2,
        "python3: needs 3.10 or newer; put actions/setup-python before this action\n",
    )


@pytest.mark.parametrize(
    ("artifact", "name"),
    [
        ("gemmbench-posts/004-gemm-0a1b", "gemmbench-posts-004-gemm-0a1b"),
        ('a"b:c<d>e|f*g?h\\i\r\nj', "a-b-c-d-e-f-g-h-i--j"),
    ],
)
def test_an_artifact_has_a_name_that_can_be_uploaded(run_action, script, artifact, name):
    run = run_action({**INPUTS, "device": script(times={"mine": 1e-3}), "artifact": artifact}, base=False)
    assert list(run.artifacts) == [name]


def test_kernels_can_be_verified_without_being_timed(run_action):
    inputs = {"device": "cpu", "variants": "mine", "kernels": "kernels", "sizes": "16,33", "verify-only": "true"}
    run = run_action(inputs, base=True)
    assert list(run.steps) == [name for name in STEPS if name != "Check against the base"]
    assert not any(run.codes) and any(run.results.glob("*-verify-*.jsonl")), run.output
    wrong = run_action(inputs, base=True, change=("alpha * sum", "alpha * sum + 1"))
    assert wrong.codes == [0, 1, 0, 0] and "mine" in wrong.steps["Verify and measure"].output


def test_a_wrong_kernel_fails_the_job_and_still_has_its_page(run_action, device):
    broken = run_action({**INPUTS, "device": device}, base=True, change=("alpha * sum", "alpha * sum + 1"))
    assert broken.codes == [0, 1, 1, 0, 0], broken.output
    check = broken.steps["Check against the base"]
    assert "::error file=kernels/mine.cu,line=1,title=broken" in check.output and "1 broken" in check.output
    assert (broken.results / "report.html").exists() and 'type="broken"' in (broken.results / "junit.xml").read_text()


def test_a_slower_kernel_fails_the_check_only(run_action, script):
    run = run_action({**INPUTS, "device": script(times={"mine": 1.05e-3, "cublas": 1e-3})}, base=True)
    assert run.codes == [0, 0, 1, 0, 0], run.output


@pytest.mark.parametrize(("fail_on", "code"), [("", 0), ("inconclusive", 4)])
def test_a_check_that_cannot_decide_warns_and_fails_where_asked_to(run_action, script, fail_on, code):
    few = {"options": "--rounds 2 --cache hot", "device": script(times={"mine": 1e-3, "cublas": 1e-3})}
    check = run_action({**INPUTS, **few, "fail-on": fail_on}, base=True).steps["Check against the base"]
    assert check.code == code and "::warning file=kernels/mine.cu,line=1,title=inconclusive" in check.output


def test_a_push_is_measured_without_a_check_and_its_results_file_says_itself_what_to_measure(run_action, script):
    inputs = {**INPUTS, "device": script(times={"mine": 1e-3, "cublas": 1e-3}), "config": "sgemm"}
    first = run_action(inputs, base=False)
    assert list(first.steps) == [name for name in STEPS if name != "Check against the base"]
    assert not any(first.codes), first.output
    (reference,) = first.results.glob("*.jsonl")
    script(times={"mine": 1.02e-3, "cublas": 1e-3})  # slower, within the margin
    run = run_action({**inputs, "against": str(reference)}, base=True)
    assert not any(run.codes), run.output
    assert f"check against {reference.stem}" in run.summary


@pytest.mark.parametrize("place", [".", "gemmbench-results", "gemmbench-results/saved"])
def test_no_file_of_a_pull_request_takes_the_place_of_its_base(run_action, script, place):
    """Here a results file of a slower kernel, by the hash of the base."""
    slow = run_action({**INPUTS, "device": script(times={"mine": 1.0, "cublas": 1e-3})}, base=False)
    (rows,) = slow.results.glob("*.jsonl")
    files = {f"{place}/{{base}}{'' if place == '.' else '.jsonl'}": rows.read_text()}
    run = run_action({**INPUTS, "device": script(times={"mine": 1.05e-3, "cublas": 1e-3})}, base=True, files=files)
    assert run.steps["Check against the base"].code == 1 and "checking against revision" in run.output
    measured = run.steps["Verify and measure"]
    assert measured.code == (0 if place == "." else 2)
    assert place == "." or "results: the repository has files there; choose a folder that it lacks" in measured.output


def test_what_is_neither_a_revision_nor_a_file_is_refused(run_action, script):
    inputs = {**INPUTS, "device": script(times={"mine": 1e-3, "cublas": 1e-3}), "against": "gone"}
    check = run_action(inputs, base=True).steps["Check against the base"]
    assert (check.code, check.output) == (2, "against: no such revision, and no .jsonl file\n")


def test_a_usage_error_fails_the_job(run_action):
    run = run_action({**INPUTS, "device": "fake", "variants": "mime"}, base=True)
    assert run.codes == [0, 2, 2, 0, 0]
    assert "did you mean 'mine'" in run.output and not list(run.results.glob("*"))
