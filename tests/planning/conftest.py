"""Reading faulty manifests."""

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.files import display_path
from gemmbench.planning.manifests.catalog import read_variant


@pytest.fixture
def line_of():
    """The number of the first line that holds a text."""
    return line_with


def line_with(path, text):
    return next(number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line)


@pytest.fixture
def faulty(write_kernel):
    """Read a kernel with changed keys; return its fault, which must stand on the line that holds `at`."""

    def read(at, **changed):
        path = write_kernel(**changed)
        with pytest.raises(SpecError) as fault:
            read_variant(path)
        place = f"{display_path(path)}:{line_with(path, at)}: "
        assert str(fault.value).startswith(place)
        return str(fault.value).removeprefix(place)

    return read
