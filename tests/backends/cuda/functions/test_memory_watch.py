"""A leak grows with the calls; a cache stops."""

import pytest

from gemmbench.backends.cuda.python_functions import MemoryWatch
from gemmbench.errors import LaunchError

MIB = 1 << 20


def watch(*kept, is_shared=lambda: False):
    """Watch calls that keep so many MiB each, with other allocations between them."""
    free = [100 * MIB]
    memory = MemoryWatch("cuda/mine.py", lambda: free[0], is_shared)
    for size in kept:
        with memory.watch():
            free[0] -= size * MIB
        free[0] -= 7 * MIB


def test_a_function_that_keeps_memory_in_every_call_leaks():
    with pytest.raises(LaunchError, match=r"leaks memory of the GPU: its calls keep 10 MiB so far.*\(cuda/mine.py\)"):
        watch(2, 2, 2, 2, 2)


@pytest.mark.parametrize("kept", [(0,) * 20, (32, 0, 0, 2, 0) + (0,) * 20, (4, -4) * 10, (8, -2, 1, -3, 2, 1, 1, -5)])
def test_a_cache_that_stops_growing_is_no_leak(kept):
    watch(*kept)


def test_what_another_process_may_have_taken_is_no_leak():
    watch(*(2,) * 20, is_shared=lambda: True)


def test_a_function_still_leaks_once_it_is_alone():
    answers = iter([True] * 8 + [False] * 9)
    with pytest.raises(LaunchError, match="its calls keep 10 MiB so far"):
        watch(*(2,) * 20, is_shared=lambda: next(answers))


def test_what_breaks_off_is_reported_as_it_is():
    memory = MemoryWatch("cuda/mine.py", lambda: 0, lambda: False)
    with pytest.raises(ValueError, match="as it is"), memory.watch():
        raise ValueError("as it is")
