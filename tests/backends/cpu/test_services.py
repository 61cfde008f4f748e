"""What is said of the CPU, its compiler, its BLAS and what else runs."""

import pytest

from gemmbench.backends.cpu import services


@pytest.fixture
def find(monkeypatch):
    """The finding on a subject, on a host of 4 cores on which so many other processes run."""

    def find(subject, needed=True, running=0.0):
        monkeypatch.setattr(services, "average_competitors", lambda: running)
        monkeypatch.setattr(services, "count_cores", lambda: 4)
        return next(found for found in services.examine_cpu(needed) if found.subject == subject)

    return find


@pytest.mark.parametrize(("needed", "status"), [(True, "fault"), (False, "warning")])
def test_a_missing_compiler_is_a_fault_where_kernels_run_on_the_cpu(find, monkeypatch, tmp_path, needed, status):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    found = find("C++ compiler", needed)
    assert (found.status, found.next_step) == (status, "apt-get install g++, or set CXX")


@pytest.mark.parametrize(("running", "status"), [(0.1, "ok"), (0.9, "ok"), (1.1, "warning"), (9.0, "warning")])
def test_a_busy_host_is_a_warning(find, running, status):
    found = find("host load", running=running)
    assert (found.status, found.message) == (status, f"{running:.1f} other processes on 4 cores")


@pytest.mark.parametrize(("name", "status"), [("openblas 0.3", "ok"), ("mkl 2024", "ok"), ("blas 3.9", "warning")])
def test_a_slow_blas_is_a_warning(find, monkeypatch, name, status):
    monkeypatch.setattr(services, "blas_version", lambda: name)
    assert find("BLAS").status == status
