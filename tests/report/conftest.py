"""A run whose numbers can be checked by hand: 64 cubed, 524,288 operations."""

import msgspec
import pytest

from gemmbench.report.comparison import compare_rows
from gemmbench.report.store.recorded_run import Run


@pytest.fixture
def make_run(environment):
    def make(*records, **changed):
        return Run(msgspec.structs.replace(environment, **changed), list(records), finished="2026-01-01T12:30:00+00:00")

    return make


@pytest.fixture
def compare(make_run):
    """The comparison of a run of these records."""
    return lambda *records, **changed: compare_rows(make_run(*records, **changed))


@pytest.fixture
def paired(make_record):
    """A record with equal mirrored rounds: each pair is a block."""

    def make(variant, *seconds, **changed):
        samples = [value for value in seconds for _ in range(2)]
        timed = {"clocks_hz": [1e9] * len(samples), "cache": "cold", "sets": 86, "data": "uniform", "launches": 1}
        checked = {"checked": True, "check_rule": "rounding", "error": 3.25}
        return make_record(variant, samples, **{**timed, **checked, "stopped": "rounds", **changed})

    return make


@pytest.fixture
def steady(paired):
    """A record with five blocks of the same time, in milliseconds."""
    return lambda variant, milliseconds=1.0, **changed: paired(variant, *[milliseconds * 1e-3] * 5, **changed)
