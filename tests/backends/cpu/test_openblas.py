"""The yardstick: all layouts, BLAS's alpha and beta."""

import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from gemmbench.backends.cpu import backend, openblas
from gemmbench.backends.cpu.entry import OPENBLAS
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.problems import LAYOUTS, Problem


def plan_openblas(*problem, **scalars):
    return Plan(Problem(*problem, **scalars), OPENBLAS, Config(), "cpu", "", None)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (3.0, 0.0), (1.0, 1.0), (-2.0, 3.0)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_layouts(bench, layout, alpha, beta):
    a, b, c, product = bench.operands(33, 65, 17, layout)
    plan = plan_openblas(33, 65, 17, layout, alpha=alpha, beta=beta)
    initial = c if beta else np.full_like(c, np.nan)
    np.testing.assert_array_equal(bench.run(plan, a, b, initial, alpha=alpha), alpha * product + beta * c)


def test_launches_take_the_sets_in_turn(bench):
    one = np.ones((1, 1), np.float32)
    executable, results = bench.bind(plan_openblas(1, 1, 1, beta=1.0), one, one, [one] * 3)
    assert executable.time(2).launches == 2
    executable.time(2)
    assert [float(c[0, 0]) for c in results] == [3, 2, 2]


def test_after_a_window_no_thread_of_the_library_is_busy(bench):
    array = np.ones((256, 256), np.float32)
    executable, _ = bench.bind(plan_openblas(256, 256, 256), array, array, [array])
    executable.time(3)
    spent = time.process_time()
    time.sleep(0.02)
    assert time.process_time() - spent < 0.01


def count_threads():
    return min(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


@pytest.fixture
def competitors(monkeypatch):
    """How many threads of other processes want a core, on a machine of 4 whose BLAS may use all."""
    monkeypatch.setattr(openblas, "count_cores", lambda: 4)
    with threadpool_limits(4, user_api="blas"):
        yield lambda count: monkeypatch.setattr(backend, "count_competitors", lambda: count)


def test_every_window_leaves_the_cores_that_others_use_to_them(bench, competitors):
    competitors(0.0)
    bench.reopen(timeout=60)
    executable, threads = bench.bind_one(plan_openblas(1, 1, 1)), []
    for count in (0.0, 1.0, 2.6, 99.0, 0.0):
        competitors(count)
        assert executable.time(1).competitors == count
        threads.append(count_threads())
    assert threads == [4, 3, 1, 1, 4]
    competitors(2.0)
    executable.time(1)
    bench.backend.close()
    assert count_threads() == 4


def test_blas_gets_no_more_threads_than_the_user_allows(competitors):
    competitors(0.0)
    with threadpool_limits(2, user_api="blas"):
        opened = backend.CpuBackend()
        assert count_threads() == 2
        opened.close()
