"""What a Dask worker does before it opens its device."""

import os

import dask
import distributed  # noqa: F401 - registers its settings

from gemmbench.bench.workers.fleet_tasks import forget_nanny_settings


def test_a_device_process_does_not_inherit_the_settings_of_the_nanny(monkeypatch):
    settings = {name: str(value) for name, value in dask.config.get("distributed.nanny.pre-spawn-environ").items()}
    assert {"OMP_NUM_THREADS", "MALLOC_TRIM_THRESHOLD_"} <= set(settings)
    monkeypatch.setattr("os.environ", {**settings, "OMP_NUM_THREADS": "3", "HOME": "/"})
    forget_nanny_settings()
    assert os.environ == {"OMP_NUM_THREADS": "3", "HOME": "/"}
