"""From a request to a page that classifies digits: `gemmbench mlp --serve`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

from gemmbench.backends.machine import Machine
from gemmbench.errors import DeviceError, UsageError
from gemmbench.session.digits.classifier import Classifier
from gemmbench.session.digits.messages import Drawing, Reply, make_reply
from gemmbench.session.digits.page import render_digit_page
from gemmbench.session.digits.server import DigitServer
from gemmbench.session.networks import NetworkRequest, PlannedNetwork, plan_network_rows


def serve_digits(request: NetworkRequest, machine: Machine, port: int, announce: Callable[[str], None]) -> None:
    """Serve the digit page until Ctrl-C; `announce` gets its address. Raises GemmbenchError."""
    with open_digit_server(request, machine, port) as server, _note_ctrl_c() as pressed:
        announce(server.address)
        server.serve_until(pressed.is_set)


@contextmanager
def _note_ctrl_c() -> Iterator[Event]:
    """An event that Ctrl-C sets: an exception could be lost if it came while an object is freed."""
    pressed = Event()
    previous = signal.signal(signal.SIGINT, lambda number, frame: pressed.set())
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def open_digit_server(request: NetworkRequest, machine: Machine, port: int = 0) -> Iterator[DigitServer]:
    """The server, with every row that can run here open on its device. Raises GemmbenchError.

    One thread owns the devices: a context of CUDA belongs to the thread that made it, and the
    processes of the CPU device end with theirs.
    """
    planned = plan_network_rows(request, machine)
    _require_digits(planned)
    rows = planned.rows if planned.sweep.policy.pdl else [row.without_pdl() for row in planned.rows]
    able = [row for row in rows if not row.reason]
    if not able:
        raise DeviceError(f"no row can run here: {planned.rows[0].reason}")
    with ThreadPoolExecutor(1, "digits") as owner:
        arguments = able, planned.parameters, machine, request.limits, planned.sweep.policy.gate
        classifier = owner.submit(Classifier, *arguments).result()

        def answer(drawing: Drawing) -> Reply:
            image = drawing.to_image()
            return make_reply(image, owner.submit(classifier.classify, image).result())

        try:
            with DigitServer(render_digit_page(planned, machine), answer, port) as server:
                yield server
        finally:
            owner.submit(classifier.close).result()


def _require_digits(planned: PlannedNetwork) -> None:
    network = planned.sweep.network
    if planned.parameters.digits is None:
        raise UsageError("--serve: these weights have no digits; leave out --weights, or give a file with images")
    if network.activations[-1] != "softmax":
        raise UsageError("--serve: the network gives no probabilities; end its `activations` with softmax")
