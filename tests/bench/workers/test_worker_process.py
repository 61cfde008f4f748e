"""The environment of the worker process."""

import os
import platform
import subprocess
import sys

import pytest

from gemmbench.bench.workers.worker_process import HEAP_SETTINGS

COUNT_FAULTS = """
import resource
import numpy as np

def copy():
    array.copy()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

array = np.ones(1 << 22, np.float32)
print(-copy() + copy())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="settings of glibc")
def test_large_arrays_get_the_pages_of_earlier_ones():
    kept, fresh = (_count_faults(settings) for settings in (HEAP_SETTINGS, {}))
    assert kept < 10 <= fresh


def _count_faults(settings: dict[str, str]) -> int:
    """Page faults while an array of 16 MiB is copied for the second time."""
    command, environment = [sys.executable, "-c", COUNT_FAULTS], os.environ | settings
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return int(done.stdout)
