"""The line that ends a run."""

import pytest

from gemmbench.report.comparison import compare_rows
from gemmbench.report.verdicts import list_fastest

MS = 1e-3


@pytest.fixture
def closing(make_run, paired):
    """The lines for a kernel of these milliseconds next to cublas at 1 ms."""

    def tell(*milliseconds, **changed):
        kernel = paired("sgemm", *(MS * value for value in milliseconds), **changed)
        return list_fastest(compare_rows(make_run(kernel, paired("cublas", *[MS] * len(milliseconds), order=9.0))))

    return tell


def test_a_kernel_that_beats_the_baseline(closing):
    assert closing(0.8547, 0.8547, 0.8547, 0.8548, 0.8549) == ["64: sgemm is fastest, 1.17x cublas"]


def test_a_kernel_that_does_not_reach_it(closing):
    assert closing(1.955, 1.958, 1.96, 1.962, 1.965) == ["64: cublas is fastest; sgemm reaches 51.0 % of it"]


def test_kernels_that_cannot_be_told_apart(closing):
    assert closing(*[1.002] * 5) == ["64: sgemm is as fast as cublas"]
    assert closing(0.9, 0.95, 1.0, 1.05, 1.1) == ["64: sgemm and cublas are too close to call, 1.0x +- 0.1"]


def test_few_rounds_give_a_line_without_an_interval(closing):
    assert closing(0.5, 0.5) == ["64: sgemm is fastest, 2.00x cublas"]


def test_without_a_valid_baseline_the_speed_is_told(make_run, paired):
    run = make_run(paired("naive", *[2 * MS] * 5), paired("tiled", *[MS] * 5), paired("cublas", MS, status="wrong"))
    assert list_fastest(compare_rows(run)) == ["64: tiled is fastest, 0.524 GFLOPS"]


def test_each_problem_has_a_line_and_names_what_tells_it_apart(make_run, paired):
    rows = [paired(name, *[MS] * 5, size=size) for size in (64, 128) for name in ("a", "cublas")]
    assert list_fastest(compare_rows(make_run(*rows))) == ["64: a is as fast as cublas", "128: a is as fast as cublas"]


def test_wrong_interrupted_and_lonely_rows_have_no_line(make_run, paired):
    other = paired("cublas", *[MS] * 5, order=9.0)
    for kernel in (paired("a", MS, status="wrong"), paired("a", MS, stopped="interrupted"), None):
        assert list_fastest(compare_rows(make_run(*filter(None, [kernel, other])))) == []
