"""Options of nvcc in a manifest, also those that depend on a parameter."""

import pytest

from gemmbench.backends.cuda.nvcc import make_unit
from gemmbench.errors import SpecError
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.problems import Problem

GPU = Target("cuda", sm=90, sms=132, smem=227 << 10, l2=50 << 20, memory=1 << 36)
FLAGS = ["-O2", "{flag: -use_fast_math, when: FAST}", "{flag: -Xptxas=-dlcm=cg, when: FAST == 2 and T > 8}"]


def test_a_flag_counts_in_the_configurations_that_its_condition_names(write_kernel):
    variant = read_variant(write_kernel("mine.cu", params={"FAST": [0, 1, 2], "T": [8, 16]}, flags=FLAGS))
    chosen = [(variant, list_configurations(variant, {ALL: ()}))]
    plans = make_plans([Problem(8, 8, 8)], chosen, "cuda", {"cuda": GPU}, lambda *_: "")
    fast, cached = "-use_fast_math", "-Xptxas=-dlcm=cg"
    expected = {(0, 8): (), (0, 16): (), (1, 8): (fast,), (1, 16): (fast,), (2, 8): (fast,), (2, 16): (fast, cached)}
    assert {tuple(dict(plan.config.values).values()): plan.flags for plan in plans} == {
        key: ("-O2", *flags) for key, flags in expected.items()
    }
    assert [fast in make_unit(plan).options for plan in plans] == [fast in plan.flags for plan in plans]


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("-lcuda", "flags: '-lcuda' is not allowed; allowed are those that change code only"),
        ("{flag: -lcuda, when: T}", "flags: '-lcuda' is not allowed"),
        ("{flag: -O1, when: M > 8}", "unknown name 'M'"),
        ("{flag: -O1}", "when"),
    ],
)
def test_a_bad_flag_is_an_error_at_its_line(write_kernel, line_of, flag, message):
    path = write_kernel("mine.cu", params={"T": [8, 16]}, flags=[flag])
    with pytest.raises(SpecError) as fault:
        read_variant(path)
    assert message in str(fault.value) and f":{line_of(path, '-lcuda' if 'lcuda' in flag else '-O1')}:" in str(
        fault.value
    )
