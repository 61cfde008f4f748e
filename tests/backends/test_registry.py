"""The registry: every back end has a record, and importing the records needs no device."""

import subprocess
import sys

import pytest

from gemmbench.backends import registry
from gemmbench.backends.cuda.system import probe
from gemmbench.backends.devices import DeviceChoice
from gemmbench.errors import DeviceError, UsageError

RECORDS = registry.list_entries()


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(probe, "_list_installed", lambda: None)


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(probe, "_list_installed", lambda: [probe._Gpu("NVIDIA H200", "GPU-1", 90, 141 << 30)])
    monkeypatch.setattr(probe, "find_spec", lambda name: object())


def test_every_record_has_the_name_of_its_package():
    assert [entry.name for entry in RECORDS] == list(registry.NAMES)


@pytest.mark.parametrize("option", ["cpu", "fake", "fake:script.yaml", "cuda", "cuda:3"])
def test_a_choice_writes_its_option_again(option):
    assert registry.parse_device(option).option == option


@pytest.mark.parametrize("entry", RECORDS, ids=lambda entry: entry.name)
def test_what_a_record_names_is_there(entry):
    libraries = [variant.name for variant in registry.list_library_variants()]
    assert entry.default_baseline in libraries
    assert all(names and size > 0 for names, size in entry.noise_plans)
    assert registry.load_services(entry.name).needs_own_process(DeviceChoice(entry.name)) in (True, False)


def test_auto_takes_the_cpu_where_there_is_no_gpu_and_says_why(no_gpu):
    note = "not using a GPU: no NVIDIA driver; running on the CPU"
    assert registry.choose_device("auto") == DeviceChoice("cpu", note=note)


def test_auto_takes_a_gpu_that_is_there_and_one_that_is_not_is_refused(gpu):
    assert registry.choose_device("auto") == DeviceChoice("cuda")
    with pytest.raises(
        DeviceError, match="device cuda:1 cannot be used: there is no GPU 1; see gemmbench doctor, or use"
    ):
        registry.choose_device("cuda:1")


@pytest.mark.parametrize("option", ["", "tpu", "cuda:", "cuda:x", "cuda:12345", "cpu:1", "auto:1"])
def test_an_unknown_device_is_refused_with_the_known_ones(option):
    with pytest.raises(UsageError, match="choose auto, cuda, cuda:N or cpu"):
        registry.choose_device(option)


def test_a_glance_sees_both_devices(gpu):
    targets = registry.glance_at_devices(registry.choose_device("cuda"))
    assert list(targets) == ["cpu", "cuda"]
    assert (targets["cuda"].sm, targets["cuda"].is_gpu, targets["cpu"].is_gpu) == (90, True, False)


@pytest.mark.parametrize(
    ("option", "why"),
    [("cpu", "--device cpu is not a GPU"), ("auto", "no NVIDIA driver"), ("fake", "--device fake is")],
)
def test_tools_of_nvidia_need_its_gpu(no_gpu, option, why):
    with pytest.raises(DeviceError, match=f"profile needs an NVIDIA GPU: {why}"):
        registry.choose_profiled(option, "profile")


def test_a_choice_describes_its_machine():
    fake, cpu = (registry.describe_machine(registry.choose_device(name)) for name in ("fake", "cpu"))
    assert (fake.primary.name, fake.host, fake.on_cpu) == ("Fake GPU", None, False)
    assert cpu.on_cpu and cpu.host is cpu.primary


def test_neither_the_records_nor_the_services_of_a_gpu_import_libraries_of_a_device():
    code = """import sys
from gemmbench.backends import registry
registry.list_library_variants()
registry.glance_at_devices(registry.choose_device("cpu"))
of_gpus = {"pycuda", "nvmath", "pynvml"}
assert not (of_gpus | {"cuda", "numpy", "yaml", "gemmbench.backends.cuda.backend"}) & set(sys.modules)
registry.load_services("cuda")
assert not of_gpus & set(sys.modules)"""
    subprocess.run([sys.executable, "-c", code], check=True)
