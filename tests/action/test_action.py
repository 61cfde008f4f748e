"""The composite action: its steps run in a checkout as a runner would run them, on each kind of device."""

import re
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


@pytest.mark.parametrize(("fail_on", "code"), [("", 0), ("inconclusive", 4)])
def test_a_check_that_cannot_decide_warns_and_fails_where_asked_to(run_action, script, fail_on, code):
    few = {"options": "--rounds 2 --cache hot", "device": script(times={"mine": 1e-3, "cublas": 1e-3})}
    check = run_action({**INPUTS, **few, "fail-on": fail_on}, base=True).steps["Check against the base"]
    assert check.code == code and "::warning file=kernels/mine.cu,line=1,title=inconclusive" in check.output


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


def test_no_extras_install_the_package_alone(run_action, script):
    run = run_action({**INPUTS, "device": script(times={"mine": 1e-3, "cublas": 1e-3}), "extras": ""}, base=False)
    assert run.installed == f"install --quiet --editable {ROOT}"


def test_no_step_has_an_input_in_its_text():
    """It would be code: inputs reach steps as environment variables."""
    for path in [ROOT / "action.yml", *(ROOT / ".github/workflows").iterdir()]:
        document = yaml.safe_load(path.read_text())
        jobs = [document["runs"]] if "runs" in document else document["jobs"].values()
        steps = [step for job in jobs for step in job["steps"]]
        assert [step for step in steps if "${{" in step.get("run", "")] == []
        actions = [step["uses"] for step in steps if not step.get("uses", ".").startswith(".")]
        assert [each for each in actions if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []
        assert "runs" in document or document["permissions"] == {"contents": "read"}


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
    assert [step.code for step in run.steps.values()] == [0, 2, 2, 0]
    assert "did you mean 'mine'" in run.output and not list(run.results.glob("*"))


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


def test_actions_are_named_by_the_hash_of_a_commit_and_jobs_read_only():
    """A tag can be moved to other code."""
    workflows = sorted((ROOT / ".github/workflows").glob("*.yml"))
    used = [
        line for path in [ROOT / "action.yml", *workflows] for line in path.read_text().splitlines() if "uses:" in line
    ]
    outside = [line for line in used if "uses: ./" not in line and "OWNER/" not in line]
    assert len(outside) == 4 and [line for line in outside if not re.search(r"@[0-9a-f]{40} # v\d", line)] == []
    assert [yaml.safe_load(path.read_text())["permissions"] for path in workflows] == [{"contents": "read"}] * 2


@pytest.mark.parametrize("page", ["README.md", "docs/guides/ci.md"])
def test_the_first_example_keeps_forks_and_tokens_out(page):
    text = next(block for block in (ROOT / page).read_text().split("```yaml\n")[1:] if "uses:" in block).split("```")[0]
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    assert job["if"] == "github.event.pull_request.head.repo.full_name == github.repository"
    assert workflow["permissions"] == {"contents": "read"}
    checkout, gemmbench = job["steps"]
    assert checkout["with"] == {"persist-credentials": False}
    assert set(gemmbench["with"]) <= INPUTS.keys() | {"margin", "fail-on"}
