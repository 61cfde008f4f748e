"""Short loads only choose what is measured in full: their status is not that of a row."""

import pytest

from gemmbench.interface.run_results import RunResults
from gemmbench.report.store.recorded_run import Run


@pytest.mark.parametrize(("phase", "ok"), [("ranking", True), ("sweep", False)])
def test_a_short_load_that_fails_does_not_make_a_run_bad(environment, make_record, phase, ok):
    failed = make_record("cublaslt", status="out of memory", phase=phase)
    results = RunResults(Run(environment, [failed, make_record("cublaslt", [1e-3] * 2)]))
    assert (results.ok, len(results.records)) == (ok, 1 if ok else 2)
