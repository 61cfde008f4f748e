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


class Code:
    """CUresult: compared with CUDA_SUCCESS, and named."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return self.name == getattr(other, "name", other)

    __hash__ = None


class PlayedDriver:
    """Records what `nodes` names; in the modes `refused` the recording is invalid."""

    CUresult = SimpleNamespace(CUDA_SUCCESS=Code("CUDA_SUCCESS"))
    CUstreamCaptureMode = SimpleNamespace(
        CU_STREAM_CAPTURE_MODE_GLOBAL="global", CU_STREAM_CAPTURE_MODE_RELAXED="relaxed"
    )

    def __init__(self, nodes=(), refused=()):
        self.nodes, self.refused, self.mode, self.graphs = nodes, refused, "", 0

    def CUstream(self, handle):
        return handle

    def cuStreamBeginCapture(self, stream, mode):
        assert not self.mode, "the stream is being recorded"
        self.mode = mode
        return (self.CUresult.CUDA_SUCCESS,)

    def cuStreamEndCapture(self, stream):
        mode, self.mode = self.mode, ""
        if mode in self.refused:
            return Code("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"), None
        self.graphs += 1
        return self.CUresult.CUDA_SUCCESS, "graph"

    def cuGraphGetNodes(self, graph, count=0):
        return self.CUresult.CUDA_SUCCESS, list(self.nodes)[:count], len(self.nodes)

    def cuGraphNodeGetType(self, node):
        return self.CUresult.CUDA_SUCCESS, SimpleNamespace(name=f"CU_GRAPH_NODE_TYPE_{node}")

    def cuGraphDestroy(self, graph):
        self.graphs -= 1
        return (self.CUresult.CUDA_SUCCESS,)


@pytest.fixture
def count(monkeypatch):
    """Count what a launch queues on a driver, or what is wrong with the launch."""

    def count(driver, launch=lambda: None, *errors):
        left = list(errors)
        monkeypatch.setattr(launcher_code, "load_bindings", lambda purpose: driver)
        try:
            return launcher_code.count_kernels(
                launch, SimpleNamespace(handle=7), "run", lambda: left.pop(0) if left else ""
            )
        finally:
            assert driver.mode == "" and driver.graphs == 0, "everything is freed"

    return count


def test_a_launch_that_queues_kernels_and_fills(count):
    assert count(PlayedDriver(["MEMSET", "KERNEL", "KERNEL"])) == 3


def test_a_launch_that_waits_is_refused_in_both_modes(count):
    with pytest.raises(LaunchError, match=r"^synchronises inside the launch: run waits for the device"):
        count(PlayedDriver(["KERNEL"], refused=("global", "relaxed")))


def test_a_launch_that_allocates_is_refused_in_one_mode(count):
    with pytest.raises(
        LaunchError,
        match=r"^allocates inside the launch: run allocates, frees or copies memory, for which there is `workspace`",
    ):
        count(PlayedDriver(["KERNEL"], refused=("global",)))


def test_an_error_that_the_function_returns_while_it_is_recorded_is_quoted(count):
    def launch():
        raise LaunchError("run returned 900")

    with pytest.raises(LaunchError, match=r"^synchronises inside the launch: .*run returned 900"):
        count(PlayedDriver(), launch)


def test_the_default_stream_is_told_by_its_error(count):
    with pytest.raises(LaunchError, match=r"^uses the default stream inside the launch: run launches or copies there"):
        count(PlayedDriver(refused=("global", "relaxed")), lambda: None, "", IMPLICIT)


@pytest.mark.parametrize("kind", ["MEM_ALLOC", "MEM_FREE"])
def test_memory_from_the_stream_is_allocated_too(count, kind):
    with pytest.raises(LaunchError, match=r"^allocates inside the launch: run allocates on its stream; declare"):
        count(PlayedDriver([kind, "KERNEL"]))


def test_a_launch_that_queues_nothing(count):
    with pytest.raises(
        LaunchError, match=r"^queued nothing on its stream: run launches nothing, or on another stream;"
    ):
        count(PlayedDriver())


@pytest.mark.parametrize(
    ("errors", "refused"), [((ERROR,), ()), (("", ERROR), ()), ((ERROR, ""), ("global", "relaxed"))]
)
def test_a_call_that_fails_while_the_function_returns_success(count, errors, refused):
    with pytest.raises(LaunchError, match=f"^a CUDA call in run fails, which run does not return: {ERROR}$"):
        count(PlayedDriver(refused=refused), lambda: None, *errors)
