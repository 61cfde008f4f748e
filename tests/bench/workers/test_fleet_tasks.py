"""What a Dask worker does before it opens its device, and the files that go along with a plan."""

import os
from pathlib import Path

import dask
import distributed  # noqa: F401  its settings are part of Dask's
import pytest

from gemmbench.bench.workers.fleet_tasks import (
    Carried,
    check_packages,
    collect_files,
    forget_nanny_settings,
    place_files,
    relocate,
)
from gemmbench.errors import BuildError
from gemmbench.planning.manifests.variant import Code


@pytest.fixture
def variant(make_variant, tmp_path):
    """A kernel with a header next to it, which includes another in a folder of `include`."""
    (tmp_path / "inc").mkdir()
    (tmp_path / "kernel.cu").write_text('#include "near.h"\n#include <cuda_fp16.h>\n')
    (tmp_path / "near.h").write_text("#include <far.h>\n")
    (tmp_path / "inc" / "far.h").write_text("// far\n")
    return make_variant(code=Code(file=str(tmp_path / "kernel.cu"), include=(str(tmp_path / "inc"),)))


def test_a_kernel_takes_local_headers_and_theirs_along_and_files_that_are_there_are_used_in_place(variant, tmp_path):
    carried = collect_files([variant])
    names = {Path(name).relative_to(tmp_path).as_posix() for name in carried.files}
    assert names == {"kernel.cu", "near.h", "inc/far.h"}
    assert place_files(carried) == ""


def test_files_that_differ_are_put_below_the_cache_and_found_there(variant, tmp_path, monkeypatch):
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    carried = collect_files([variant])
    (tmp_path / "near.h").write_text("// another\n")
    moved = relocate(variant, place_files(carried))
    assert Path(moved.code.file).with_name("near.h").read_text() == "#include <far.h>\n"
    assert (Path(moved.code.include[0]) / "far.h").is_file()
    assert str(tmp_path / "cache") in moved.code.file


def test_another_version_of_a_package_is_refused_by_name(make_variant):
    variant = make_variant(packages=("numpy",))
    with pytest.raises(BuildError, match=r"numpy is .* here and 0\.1 on the client"):
        check_packages(variant, Carried(packages={"numpy": "0.1"}))


def test_a_device_process_does_not_inherit_the_settings_of_the_nanny(monkeypatch):
    settings = {name: str(value) for name, value in dask.config.get("distributed.nanny.pre-spawn-environ").items()}
    assert {"OMP_NUM_THREADS", "MALLOC_TRIM_THRESHOLD_"} <= set(settings)
    monkeypatch.setattr("os.environ", {**settings, "OMP_NUM_THREADS": "3", "HOME": "/"})
    forget_nanny_settings()
    assert os.environ == {"OMP_NUM_THREADS": "3", "HOME": "/"}
