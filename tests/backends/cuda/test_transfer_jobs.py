"""The order in which a job is queued, on streams that only write down what they are given."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.cuda.transfer_jobs import CudaJob, HostBuffer
from gemmbench.backends.cuda.window import Calls
from gemmbench.backends.jobs import CopyStep, LaunchStep
from gemmbench.errors import LaunchError, OutOfMemory
from gemmbench.planning.problems import Problem

CODE = Artifact("code", "", Build())
BYTES = np.arange(256, dtype=np.uint8).reshape(16, 16)
COPY, BACK = CopyStep(0, BYTES, 0, True), CopyStep(0, BYTES, 16, False)


@pytest.fixture(autouse=True)
def driver(log, stub_pycuda):
    """pycuda.driver as far as jobs use it; every event was recorded 1 ms after the one created before."""
    events = []

    class Event:
        def __init__(self):
            self.name, self.number = f"e{len(events)}", len(events)
            events.append(self)

        def record(self, stream):
            log.append(f"{self.name} on {stream.name}")

        def time_since(self, other):
            return float(self.number - other.number)

    class Memcpy2D:
        def set_src_host(self, host):
            self.host = host

        def set_dst_device(self, device):
            self.device = device

        def __call__(self, stream):
            shape = f"{self.height} rows of {self.width_in_bytes} from pitch {self.src_pitch} to {self.dst_pitch}"
            log.append(f"{stream.name} 2-D {shape} at {self.device}, first byte {self.host[0, 0]}")

    class Pinned(np.ndarray):
        base = SimpleNamespace(free=lambda: log.append("unpinned"))

    def pagelocked_empty(nbytes, dtype):
        if nbytes > 1 << 20:
            raise driver.Error("cuMemHostAlloc failed: out of memory")
        return np.zeros(nbytes, dtype).view(Pinned)

    driver = stub_pycuda(
        Event=Event,
        Memcpy2D=Memcpy2D,
        pagelocked_empty=pagelocked_empty,
        memcpy_htod_async=lambda device, host, stream: log.append(f"{stream.name} in {host.nbytes} to {device}"),
        memcpy_dtoh_async=lambda host, device, stream: log.append(f"{stream.name} out {host.nbytes} from {device}"),
    )
    return driver


@pytest.fixture
def job(log, make_text_plan):
    """A job at address 1000, its kernels loaded for the stream of each launch."""
    plan = replace(make_text_plan(""), problem=Problem(8, 8, 8, alpha=2.0, beta=0.5))

    def open_stream(number):
        return SimpleNamespace(
            name=f"s{number}",
            wait_for_event=lambda event: log.append(f"s{number} waits for {event.name}"),
            synchronize=log.synchronize,
        )

    def load(artifact, plan, number):
        def calls(plan, sets):
            text = f"s{number} launch {tuple(sets[0].values())} {plan.problem.alpha:g} {plan.problem.beta:g}"
            return Calls((lambda: log.append(text),), "gemm: grid 1x1x1")

        return SimpleNamespace(errors=(KeyError,), calls=calls)

    def make(*steps, gate=True):
        streams = [open_stream(number) for number in range(1 + max(step.stream for step in steps))]
        return CudaJob(steps, 1000, streams, load, log if gate else None)

    make.launch = lambda number, after=None: LaunchStep(number, plan, CODE, {"A": 0, "B": 8, "C": 16}, after)
    return make


def test_a_job_of_one_stream_has_an_event_where_a_part_ends_and_adds_up_its_parts(job, log):
    parts = job(CopyStep(0, BYTES, 8, True), COPY, job.launch(0), BACK).run()
    assert log == [
        "e0 on s0",
        "s0 in 256 to 1008",
        "s0 in 256 to 1000",
        "e2 on s0",
        "s0 launch (1000, 1008, 1016) 2 0.5",
        "e3 on s0",
        "s0 out 256 from 1016",
        "e4 on s0",
        "e1 on s0",
        "wait",
    ]
    # the stub dates events by the order they were created in: the start 0, the end 1, the parts 2 to 4
    assert (parts.seconds, parts.h2d, parts.kernel, parts.d2h) == pytest.approx((1e-3, 2e-3, 1e-3, 1e-3))


def test_the_parts_of_panels_are_added_up(job):
    panel = COPY, job.launch(0), BACK
    parts = job(CopyStep(0, BYTES, 8, True), *panel, *panel).run()
    # the start 0, the end 1, then in 2, kernel 3, out 4, in 5, kernel 6, out 7
    assert (parts.h2d, parts.kernel, parts.d2h) == pytest.approx((3e-3, 2e-3, 2e-3))


def test_other_streams_wait_for_the_start_and_for_what_they_are_told_and_the_end_waits_for_all(job, log):
    parts = job(CopyStep(0, BYTES, 8, True), job.launch(0), CopyStep(1, BYTES, 0, True, after=0), job.launch(1)).run()
    assert log == [
        "e0 on s0",
        "s1 waits for e0",
        "s0 in 256 to 1008",
        "e3 on s0",
        "s0 launch (1000, 1008, 1016) 2 0.5",
        "s1 waits for e3",
        "s1 in 256 to 1000",
        "s1 launch (1000, 1008, 1016) 2 0.5",
        "e2 on s1",
        "s0 waits for e2",
        "e1 on s0",
        "wait",
    ]
    assert parts.seconds == pytest.approx(1e-3) and np.isnan([parts.h2d, parts.kernel, parts.d2h]).all()


@pytest.mark.parametrize(("panels", "gate", "held"), [(1, True, 1), (64, True, 1), (1, False, 0), (74, True, 0)])
def test_the_gate_holds_all_but_the_first_run_unless_there_is_none_or_the_queue_is_too_short(
    job, log, panels, gate, held
):
    steps = [COPY, COPY, job.launch(0), BACK] * panels  # with their events, 7 entries a panel
    run = job(*steps, gate=gate).run
    run()
    assert "close" not in log
    log.clear()
    run()
    assert (log[:1] == ["close"], log[-2:] == ["open", "wait"], log.count("close")) == (held, held, held)


def test_a_job_whose_gate_gave_up_is_measured_again_without(job, log):
    run = job(COPY).run
    run()
    log.clear()
    log.expired = True
    assert not run().gated
    assert [entry for entry in log if entry in ("close", "wait")] == ["close", "wait"] * 2
    log.expired = False
    assert run().gated


def test_the_gate_is_opened_when_a_step_fails(job, log, driver):
    held = job(COPY, job.launch(0))
    held.run()
    held._queue[0] = lambda: (_ for _ in ()).throw(driver.Error("cuMemcpyHtoDAsync failed: an illegal memory access"))
    with pytest.raises(LaunchError, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
        held.run()
    assert log[-1] == "open"


def test_columns_are_copied_as_a_rectangle(job, log):
    job(CopyStep(0, BYTES[:, 4:12], 32, True), gate=False).run()
    assert log[1] == "s0 2-D 16 rows of 8 from pitch 16 to 8 at 1032, first byte 4"


@pytest.mark.parametrize(("pinned", "freed"), [(True, ["unpinned"]), (False, [])])
def test_memory_of_the_host_is_zero_and_is_given_back_once(log, pinned, freed):
    buffer = HostBuffer(64, pinned)
    assert buffer.bytes.shape == (64,) and not buffer.bytes.any() and (type(buffer.bytes) is np.ndarray) != pinned
    buffer.free()
    buffer.free()
    assert log == freed and buffer.bytes.size == 0


def test_memory_that_cannot_be_pinned_is_told():
    with pytest.raises(OutOfMemory, match=r"^cannot page-lock 2,097,152 bytes of host memory: choose a smaller size"):
        HostBuffer(2 << 20, pinned=True)
