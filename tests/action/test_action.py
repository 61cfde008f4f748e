"""The composite action: its steps run in a checkout as a runner would run them, on each kind of device."""

from pathlib import Path

import pytest
import yaml

from gemmbench.backends.cuda.system import probe

ROOT = Path(__file__).resolve().parents[2]
INPUTS = {"variants": "mine", "kernels": "kernels", "sizes": "16", "options": "--rounds 10 --cache hot"}
STEPS = ["Install gemmbench", "Verify and measure", "Check against the base", "Write the report page"]


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and (why := probe.why_no_gpu()):
        pytest.skip(why)
    return request.param


def test_a_pull_request_is_measured_checked_and_kept(run_action, device):
    run = run_action({**INPUTS, "device": device, "margin": "99%"}, base=True)
    assert {name: step.code for name, step in run.steps.items()} == dict.fromkeys(STEPS, 0), run.output
    kept = {path.name for path in run.results.iterdir()}
    assert {"rows.csv", "junit.xml", "report.html"} <= kept
    assert sorted(path.stem.split("-")[2] for path in run.results.glob("*.jsonl")) == ["check", "quick"]
    summary = run.summary.read_text()
    assert "### M = 16, N = 16, K = 16" in summary and f"check against {run.base} (" in summary
    assert "mine" in (run.results / "rows.csv").read_text()


def test_a_wrong_kernel_fails_the_job_and_still_has_its_page(run_action, device):
    broken = run_action({**INPUTS, "device": device}, base=True, change=("alpha * sum", "alpha * sum + 1"))
    assert [step.code for step in broken.steps.values()] == [0, 1, 1, 0], broken.output
    check = broken.steps["Check against the base"]
    assert "::error file=kernels/mine.cu,line=1,title=broken" in check.output and "1 broken" in check.output
    assert (broken.results / "report.html").exists() and 'type="broken"' in (broken.results / "junit.xml").read_text()


def test_a_slower_kernel_fails_the_check_only(run_action, script):
    run = run_action({**INPUTS, "device": script(times={"mine": 1.05e-3, "cublas": 1e-3})}, base=True)
    assert [step.code for step in run.steps.values()] == [0, 0, 1, 0], run.output


def test_a_push_is_measured_without_a_check_and_its_results_file_says_itself_what_to_measure(run_action, script):
    inputs = {**INPUTS, "device": script(times={"mine": 1e-3, "cublas": 1e-3}), "config": "sgemm"}
    first = run_action({**inputs, "extras": "cuda,dev"}, base=False)
    assert first.installed == f"install --quiet --editable {ROOT}[cuda,dev]"
    assert list(first.steps) == [name for name in STEPS if name != "Check against the base"]
    assert {step.code for step in first.steps.values()} == {0}, first.output
    (reference,) = first.results.glob("*.jsonl")
    script(times={"mine": 1.02e-3, "cublas": 1e-3})  # slower, within the margin
    run = run_action({**inputs, "against": str(reference)}, base=True)
    assert {step.code for step in run.steps.values()} == {0}, run.output
    assert f"check against {reference.stem}" in run.summary.read_text()


def test_a_usage_error_fails_the_job(run_action):
    run = run_action({**INPUTS, "device": "fake", "variants": "mime"}, base=True)
    assert [step.code for step in run.steps.values()] == [0, 2, 2, 0]
    assert "did you mean 'mine'?" in run.output and not list(run.results.glob("*"))


def test_the_workflow_uses_inputs_that_the_action_has():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    workflow = yaml.safe_load((ROOT / ".github/workflows/gpu.yml").read_text())
    (job,) = workflow["jobs"].values()
    (used,) = [step for step in job["steps"] if step.get("uses") == "./"]
    assert set(used["with"]) <= set(action["inputs"])
    assert all(action["inputs"][name]["description"] for name in action["inputs"])


def test_no_input_is_written_into_a_script():
    """An input could hold shell commands; steps take them from the environment."""
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    assert [step["name"] for step in steps if "${{" in step.get("run", "")] == []
