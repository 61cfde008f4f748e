"""A ladder at three sizes, whose speeds can be checked by hand, and charts as parsed SVG."""

from xml.etree import ElementTree

import pytest

from gemmbench.report.charts.svg import render_svg

GFLOPS = {"naive": (100, 110, 120), "tiled": (300, 400, 450), "cublas": (500, 700, 800)}
SIZES = (256, 512, 1024)


@pytest.fixture
def timed(paired):
    """A record of a variant with this speed and an interval of 2 % around it; cublas always takes the same time."""

    def make(variant, gflops, size=256, **changed):
        shape = {**dict.fromkeys("MNK", size), **{name: changed.pop(name) for name in "MNK" if name in changed}}
        seconds = 2e-9 * shape["M"] * shape["N"] * shape["K"] / gflops
        width = 0 if variant == "cublas" else 0.01
        spread = [seconds * (1 + width) ** share for share in (-1, -0.5, 0, 0.5, 1)]
        return paired(variant, *spread, **{"batch_key": str(sorted(shape.items())), **shape, **changed})

    return make


@pytest.fixture
def ladder(compare, timed):
    """A run of naive, tiled and cublas at three sizes; the peak is 1,000 GFLOPS at 1 GHz."""

    def make(*more, **changed):
        records = [
            timed(variant, speed, size, order=float(order))
            for order, (variant, speeds) in enumerate(GFLOPS.items())
            for size, speed in zip(SIZES, speeds, strict=True)
        ]
        return compare(*records, *more, **changed)

    return make


@pytest.fixture
def parse_svg():
    """The parsed SVG of a chart."""
    return lambda chart: ElementTree.fromstring(render_svg(chart))
