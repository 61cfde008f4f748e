"""What must hold between the results of operand sets in an audit of a GEMM."""

import pytest

from gemmbench.bench.experiments.workload import GemmCase
from gemmbench.bench.verify.reference import make_reference
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import Problem


@pytest.mark.parametrize("name", PRECISIONS)
def test_results_are_multiples_of_each_other_unless_sums_may_be_subnormal(name):
    reference = make_reference(Problem(4, 5, 6, precision_name=name), "uniform", 0, 1.0, 0.0)
    case = GemmCase(reference.operands, reference)
    assert case.is_linear is (name != "f16_f16")
