"""The arguments of a host function, and what a recorded launch shows, on a driver that is played."""

from ctypes import c_double, c_float
from types import SimpleNamespace

import pytest

from gemmbench.backends.cuda import launcher_code
from gemmbench.backends.cuda.launcher_code import HostScalars, list_arguments
from gemmbench.errors import LaunchError
from gemmbench.planning.problems import Problem

ADDRESSES = {"A": 10, "B": 20, "C": 30, "workspace": 0, "stream": 40, "&float alpha": 50}


def fill(plan):
    return [each.fill(plan.problem, ADDRESSES) for each in list_arguments(plan)]


def test_the_standard_arguments(plan_launcher):
    plan = plan_launcher("")
    assert "".join(each.kind for each in list_arguments(plan)) == "iiifppfppp"
    slots = fill(plan)
    assert [slot.whole for slot in slots[:3]] == [3, 4, 5]
    assert [slots[3].number, slots[6].number] == [1.5, -0.5]
    assert [slot.address for slot in slots[4:]] == [10, 20, None, 30, None, 40]


def test_a_column_major_launcher_gets_the_same_product_transposed(plan_launcher):
    slots = fill(plan_launcher("", "storage: column\n", Problem(3, 4, 5, "nn")))
    assert [slot.whole for slot in slots[:3]] == [4, 3, 5]
    assert [slot.address for slot in (slots[4], slots[5], slots[7])] == [20, 10, 30]


def test_arguments_of_its_own(plan_launcher):
    keys = 'args: [stream, "&alpha", C, A, B, ldb, long(M*K), double(beta), float(2), null, 0.25]\n'
    plan = plan_launcher("", keys)
    assert "".join(each.kind for each in list_arguments(plan)) == "ppppp" + "ii" + "ff0f"
    slots = fill(plan)
    assert [slot.address for slot in slots[:5]] == [40, 50, 30, 10, 20]
    assert [slot.whole for slot in slots[5:7]] == [4, 15]
    assert [slot.number for slot in (slots[7], slots[8], slots[10])] == [-0.5, 2, 0.25]


@pytest.mark.parametrize(("keys", "names"), [("", "M, N, K, alpha"), ("args: [A, B, C, M, alpha]\n", "A, B, C, 3")])
def test_arguments_in_words(plan_launcher, keys, names):
    assert ", ".join(map(str, list_arguments(plan_launcher("", keys, Problem(3, 4, 5))))).startswith(names)


def test_scalars_by_pointer_are_in_host_memory(plan_launcher):
    plan = plan_launcher("", 'args: ["&alpha", "&double(beta)", A, B, C, stream]\n')
    scalars = HostScalars(plan)
    alpha, beta = (scalars.find(each.passed) for each in list_arguments(plan)[:2])
    assert (c_float.from_address(alpha).value, c_double.from_address(beta).value) == (1.5, -0.5)


IMPLICIT = "cudaErrorStreamCaptureImplicit, operation would make the legacy stream depend"
ERROR = "cudaErrorInvalidConfiguration, invalid configuration argument"
FAILS = f"^a CUDA call in run fails, but run does not return the error: {ERROR}$"
BOTH = ("global", "relaxed")


@pytest.fixture
def count(bindings):
    """Count what a launch queues, or what is wrong with it."""

    def count(nodes=(), refused=(), errors=(), fails=False):
        bindings.refused, left = refused, list(errors)

        def launch():
            bindings.queued.extend(nodes)
            if fails:
                raise LaunchError("run returned 900")

        try:
            stream = SimpleNamespace(handle=7)
            return launcher_code.count_kernels(launch, stream, "run", lambda: left.pop(0) if left else "")
        finally:
            assert (bindings.mode, bindings.graphs) == ("", 0), "everything is freed"

    return count


def test_a_launch_that_queues_kernels_and_fills(count):
    assert count(["MEMSET", "KERNEL", "KERNEL"]) == 3


@pytest.mark.parametrize(
    ("launch", "words"),
    [
        ({"nodes": ["KERNEL"], "refused": BOTH}, "^synchronises inside the launch: run waits for the device"),
        ({"nodes": ["KERNEL"], "fails": True}, "^synchronises inside the launch: .*run returned 900"),
        (
            {"nodes": ["KERNEL"], "refused": ["global"]},
            "^allocates inside the launch: run allocates, frees or copies memory; use `workspace` for this",
        ),
        ({"nodes": ["MEM_ALLOC", "KERNEL"]}, "^allocates inside the launch: run allocates on its stream; declare"),
        ({"nodes": ["MEM_FREE", "KERNEL"]}, "^allocates inside the launch: run allocates on its stream; declare"),
        (
            {"refused": BOTH, "errors": ["", IMPLICIT]},
            "^uses the default stream inside the launch: run launches or copies there",
        ),
        ({}, "^queued nothing on its stream: run launches nothing, or uses another stream;"),
        ({"errors": [ERROR]}, FAILS),
        ({"errors": ["", ERROR]}, FAILS),
        ({"errors": [ERROR, ""], "refused": BOTH}, FAILS),
    ],
)
def test_what_a_window_cannot_contain_is_told(count, launch, words):
    with pytest.raises(LaunchError, match=words):
        count(**launch)
