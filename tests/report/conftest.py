"""A run whose numbers can be checked by hand: 64 cubed, 524,288 operations."""

import pytest

from gemmbench.report.store.recorded_run import Run


@pytest.fixture
def make_run(environment):
    def make(*records, **changed):
        import msgspec

        return Run(msgspec.structs.replace(environment, **changed), list(records))

    return make


@pytest.fixture
def paired(make_record):
    """A record with equal mirrored rounds, as old files have it: each pair is a block."""

    def make(variant, *seconds, **changed):
        samples = [value for value in seconds for _ in range(2)]
        timed = {"clocks_hz": [1e9] * len(samples), "cache": "cold", "sets": 86, "data": "uniform", "launches": 1}
        checked = {"checked": True, "check_rule": "rounding", "error": 3.25}
        return make_record(variant, samples, **{**timed, **checked, "stopped": "rounds", **changed})

    return make
