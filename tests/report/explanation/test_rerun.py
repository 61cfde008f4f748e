"""The command that measures a row again, from the command that a file records."""

import msgspec
import pytest

from gemmbench.report.explanation import find_recorded_option


@pytest.mark.parametrize("command", ["", "gemmbench run '"])
def test_a_command_that_is_empty_or_broken_has_no_options(environment, command):
    assert find_recorded_option(msgspec.structs.replace(environment, command=command), "--kernels") is None
