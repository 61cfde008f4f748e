"""A fleet of two workers on this host, which the tests of a file share."""

import gc
from contextlib import contextmanager

import pytest

from gemmbench.bench.workers.connection import Connection, start_workers
from gemmbench.session.machine import open_machines
from gemmbench.session.reporter import Reporter


class Messages(Reporter):
    """Keeps what the user is told."""

    def __init__(self):
        self.texts = []

    def message(self, text):
        self.texts.append(text)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a scheduler with two workers, whose cache is their own."""
    pytest.importorskip("distributed")
    environment = {"GEMMBENCH_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    with start_workers([environment] * 2, "GPU") as address:
        with Connection(address, "GPU") as connection:
            connection.await_workers(2)
        yield address
    gc.collect()  # while the warnings of Dask's sockets are ignored


@pytest.fixture
def messages():
    return Messages()


@pytest.fixture
def open_fleet(cluster, messages):
    """Open the one machine of the fleet; `device` is what `--device` names."""

    @contextmanager
    def open_one(device="fake"):
        with open_machines(device, cluster, messages) as (machine,):
            yield machine

    return open_one
