"""Blocks that share a tile of C add up their parts of K in the same order, whoever is last: cuda/sgemm/parts.cuh."""

import numpy as np
import pytest

from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.problems import Problem

TINY = {"BM": 16, "BN": 16, "BK": 16, "TM": 4, "TN": 4, "SLICES": 4, "BLOCKS": 1}
STREAM = {"LINES": 8, "OUTPUTS": 16, "THREADS": 128, "AHEAD": 1, "BLOCKS": 1}


@pytest.mark.parametrize(
    ("name", "params", "shape", "sms"),
    [
        ("sgemm_small", TINY, (9, 13, 700), 7),  # one group of 7 parts
        ("sgemm_small", TINY, (9, 13, 1200), 18),  # three groups
        ("sgemm_small", TINY, (9, 13, 5003), 75),  # ten groups
        ("sgemm_stream", STREAM, (5, 40, 9000), 60),  # three tiles, each with three groups
        ("sgemm_stream", STREAM, (40, 5, 9001), 60),
        ("sgemm_stream", STREAM, (5, 40, 9000), 8),  # three tiles for eight blocks, two of which have parts of two
        ("sgemm_stream", STREAM, (200, 5, 3000), 8),  # 13 tiles for eight blocks, which have whole ones between parts
    ],
)
def test_parts_are_added_in_the_order_of_k(bench, name, params, shape, sms):
    variant = read_variant(data_folder("cuda") / "sgemm" / f"{name}.cu")
    target = Target("cpu", sm=0, sms=sms, smem=1 << 18, l2=1 << 20, memory=1 << 34, is_gpu=False)
    plan = bench.plan_variant(variant, Problem(*shape), target, **params)
    random = np.random.default_rng(0)
    a, b = (random.uniform(-1, 1, plan.problem.stored_shape(each)).astype(np.float32) for each in "AB")
    found = [bench.run(plan, a, b, mode=order) for order in ("forward", "reverse")]
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], a.astype(float) @ b.astype(float), atol=1e-4)
