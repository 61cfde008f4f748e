"""Occupancy against the toolkit's occupancy calculator (cuda_occupancy.h of CUDA 13.0)."""

from __future__ import annotations

import pytest

from gemmbench.analysis.occupancy import theoretical_occupancy
from gemmbench.errors import DeviceError


@pytest.mark.parametrize(
    ("sm", "threads", "registers", "shared", "blocks", "limiter"),
    [
        (90, 256, 128, 0, 2, "registers"),
        (90, 256, 32, 0, 8, "warps"),
        (90, 32, 16, 0, 32, "blocks"),
        (90, 128, 255, 0, 2, "registers"),
        (90, 128, 32, 232448, 1, "shared memory"),
        (90, 128, 32, 232449, 0, "shared memory"),
        (90, 128, 32, 113 * 1024, 2, "shared memory"),
        (90, 128, 32, 114 * 1024, 1, "shared memory"),
        (80, 256, 128, 48 * 1024, 2, "registers"),
        (80, 256, 40, 32 * 1024, 4, "shared memory"),
        (80, 1024, 64, 0, 1, "registers"),
        (80, 1024, 65, 0, 0, "registers"),
        (86, 256, 40, 0, 6, "warps"),
        (89, 64, 16, 0, 24, "warps"),
        (75, 256, 64, 16 * 1024, 4, "warps"),
        (75, 128, 128, 16 * 1024, 4, "registers"),
        (75, 128, 32, 64 * 1024, 1, "shared memory"),
        (70, 128, 64, 96 * 1024, 1, "shared memory"),
        (61, 128, 32, 48 * 1024 + 1, 0, "shared memory"),
        (60, 288, 200, 0, 0, "registers"),
        (120, 256, 128, 0, 2, "registers"),
        (90, 1025, 16, 0, 0, "warps"),
    ],
)
def test_blocks_and_what_limits_them(sm, threads, registers, shared, blocks, limiter):
    found = theoretical_occupancy(sm, threads, registers, shared)
    assert (found.blocks_per_sm, found.limiter) == (blocks, limiter)


def test_warps_and_their_fraction():
    found = theoretical_occupancy(90, 256, 128, 0)
    assert (found.warps_per_sm, found.max_warps, found.fraction) == (16, 64, 0.25)
    assert theoretical_occupancy(75, 1000, 32, 0).warps_per_sm == 32


def test_an_unknown_architecture_is_told():
    with pytest.raises(DeviceError, match="the limits of sm_42 are not known; known: 50, 52"):
        theoretical_occupancy(42, 256, 32, 0)
