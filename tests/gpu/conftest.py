"""One open GPU for all tests here; without one they are skipped, and say why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gemmbench.backends.cuda.system import probe

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

    from gemmbench.backends.cuda.backend import CudaBackend


MEASURED_ONCE = (
    "arguments_by_value",
    "citations",
    "foreign_forms",
    "hostile",
    "launchers",
    "python_forms",
    "python_variants",
)
"""The files whose tests look at the same rows."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """With -n, the tests of such a file run in one process, so that its rows are measured once."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if file.endswith(tuple(f"test_{name}.py" for name in MEASURED_ONCE)) else nodeid

    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take longest."""
    items.sort(key=lambda item: "test_shipped_kernels" not in item.nodeid)


@pytest.fixture(scope="session", autouse=True)
def wide() -> None:
    """Lines of output have any length, even where a plugin of pytest sets the width of the terminal late."""
    os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiler cache, empty at first, that all processes of the tests share."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"


@pytest.fixture(scope="session")
def backend(cache: Path) -> Iterator[CudaBackend]:
    """The GPU."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    from gemmbench.backends.cuda.backend import CudaBackend

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEMMBENCH_CACHE_DIR", str(cache))
        opened = CudaBackend()
        yield opened
        opened.close()
