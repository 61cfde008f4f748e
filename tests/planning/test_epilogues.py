"""Steps of an epilogue: their formulas on arrays."""

import math

import numpy as np
import pytest

from gemmbench.planning.epilogues import EPILOGUE_STEPS


@pytest.mark.parametrize("scale", [1e-3, 1, 10])
def test_gelu_is_as_exact_as_float64(scale):
    x = np.random.default_rng(0).normal(size=2000) * scale
    want = np.array([0.5 * each * (1 + math.erf(each / math.sqrt(2))) for each in x])
    assert np.allclose(EPILOGUE_STEPS["gelu"].apply(x, x), want, rtol=0, atol=2e-16 * max(1, 4 * scale))


def test_gelu_keeps_nan_and_infinity():
    with np.errstate(invalid="ignore"):
        got = EPILOGUE_STEPS["gelu"].apply(np.array([np.nan, np.inf, -np.inf, 0.0]), np.zeros(1))
    assert np.array_equal(got, [np.nan, np.inf, np.nan, 0.0], equal_nan=True)
