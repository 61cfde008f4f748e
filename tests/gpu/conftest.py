"""One open GPU for all tests here; without one they are skipped, and say why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from gemmbench.backends.cuda.system import probe

if TYPE_CHECKING:
    from gemmbench.backends.cuda.backend import CudaBackend


@pytest.fixture(scope="session")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CudaBackend]:
    """The GPU, with an empty compiler cache."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    from gemmbench.backends.cuda.backend import CudaBackend

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        opened = CudaBackend()
        yield opened
        opened.close()
