"""Sweeps without a command line: planned, measured, resumed."""

import pytest

from gemmbench.errors import DeviceError
from gemmbench.planning.sweeps.run_request import Destination, make_request
from gemmbench.report.store.reading import read_results
from gemmbench.session.machine import find_machine
from gemmbench.session.reporter import SILENT
from gemmbench.session.sweep_runs import choose_transfers, plan_request, run_sweep


def request(*variants, **changes):
    return make_request(variants=variants, sizes="16", rounds=2, cache="hot", **changes)


def test_a_sweep_is_measured_into_a_file_and_nothing_is_printed(machine, notes, capsys):
    result = run_sweep(request("naive", destination=Destination(command="a script")), machine, notes)
    assert [record.variant for record in result.run.records] == ["naive", "cublas"]
    assert not result.interrupted
    saved = read_results(result.run.path)
    assert (len(saved.records), saved.environment.command) == (2, "a script")
    assert (notes.messages, notes.bars) == ([], 1) and notes.steps
    assert capsys.readouterr() == ("", "")


def test_the_baseline_is_added_and_compare_sets_the_variants_against_each_other(machine):
    planned = plan_request(request("tiled", "naive"), machine)
    assert [plan.variant.name for plan in planned.plans] == ["naive", "tiled", "cublas"]
    assert (planned.sweep.baseline, planned.devices, planned.skips) == ("cublas", ["fake"], [])
    planned = plan_request(request("tiled", "naive"), machine, compare=True)
    assert (planned.sweep.name, planned.sweep.rivals) == ("compare", ("tiled", "naive"))


def test_a_comparison_takes_sizes_and_policy_from_a_config(machine):
    found = plan_request(make_request(variants=("naive", "cublas")), machine, compare=True).sweep
    quick = plan_request(make_request(), machine).sweep
    assert [choice.name for choice in found.choices] == ["naive", "cublas"]
    assert (found.problems, found.policy, found.baseline) == (quick.problems, quick.policy, quick.baseline)


def test_an_explicit_baseline_must_be_able_to_run():
    with pytest.raises(DeviceError, match="baseline cublas needs a GPU; use --baseline openblas"):
        plan_request(request("naive", baseline="cublas"), find_machine("cpu", SILENT))


POST = """
sizes: [16]
baseline: cublas
measure: {rounds: 2, cache: hot}
post:
  title: A post
  source: somewhere
  columns: {Method: label, Time (ms): time_ms}
  rows:
    - {label: kernel, variant: tiled, config: {TILE: 16}}
    - {label: other, variant: naive}
    - {label: job, variant: tiled, config: {TILE: 16}, copies: overlapped}
"""


def test_a_post_with_copies_measures_the_jobs_of_its_rows_only(machine, tmp_path):
    (tmp_path / "post.yaml").write_text(POST)
    asked = make_request(str(tmp_path / "post.yaml"))
    planned = plan_request(asked, machine)
    assert [plan.variant.name for plan in planned.plans] == ["naive", "tiled", "cublas"]
    cut, jobs = choose_transfers(None, planned, machine)
    assert cut is not None and [plan.variant.name for plan in jobs] == ["tiled"]
    assert choose_transfers(cut, planned, machine) == (cut, planned.plans)
    run = run_sweep(asked, machine).run
    assert {record.variant for record in run.transfers} == {"tiled"}
    assert {"pageable", "overlapped"} <= {record.mode for record in run.transfers}
    on_cpu = find_machine("cpu", SILENT)
    assert choose_transfers(None, planned, on_cpu) == (None, [])
