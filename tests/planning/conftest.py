"""Devices to plan for, plans of a variant, and faulty manifests."""

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.files import display_path
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.problems import Problem

CUBE = Problem(64, 64, 64)


@pytest.fixture
def gpu():
    return Target("cuda", sm=90, sms=132, smem=227 << 10, l2=50 << 20, memory=1 << 36)


@pytest.fixture
def cpu():
    return Target("cpu", sm=0, sms=2, smem=227 << 10, l2=1 << 20, memory=1 << 33, is_gpu=False, has_graphs=False)


@pytest.fixture
def expand(gpu):
    """The plans and skips of a variant, with these values of its parameters, on a GPU or another device."""

    def make(variant, problem=CUBE, values=None, target=gpu, refuses=lambda *_: ""):
        chosen = [(variant, list_configurations(variant, values or {}))]
        return make_plans([problem], chosen, target.kind, {target.kind: target}, refuses)

    return make


@pytest.fixture
def line_of():
    """The number of the first line that holds a text."""
    return line_with


def line_with(path, text):
    return next(number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line)


@pytest.fixture
def faulty(write_kernel):
    """Read a kernel with changed keys; return its fault, which must be on the line that holds `at`."""

    def read(at, **changed):
        path = write_kernel(**changed)
        with pytest.raises(SpecError) as fault:
            read_variant(path)
        place = f"{display_path(path)}:{line_with(path, at)}: "
        assert str(fault.value).startswith(place)
        return str(fault.value).removeprefix(place)

    return read
