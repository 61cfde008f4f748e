"""The server of the digit page, which serves only this machine, and only clients that know the address.

It listens on 127.0.0.1. Every address begins with a random token, and the header Host must name this server, so no
other page in the browser can reach it, not even one whose name was made to point to 127.0.0.1 (DNS rebinding).
"""

from __future__ import annotations

import hmac
import secrets
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Lock, Timer
from typing import Any, ClassVar

import msgspec

from examples.digits.classifier import Classifier
from examples.digits.messages import Drawing, Reply, make_reply
from examples.digits.page import render_page
from gemmbench.backends.devices import Machine
from gemmbench.errors import DeviceError, UsageError
from gemmbench.planning.sweeps.run_request import RunRequest
from gemmbench.session.network_runs import PlannedNetwork, plan_network_rows

HOST = "127.0.0.1"
_MOST_BYTES = 1 << 20
_SECONDS = 10.0
"""How long a connection may be silent, and how long the head or the body of a request may take."""
_MOST_CONNECTIONS = 16

Answer = Callable[[Drawing], Reply]
"""Classifies a drawing. Raises ValueError for one that cannot be classified."""


class DigitServer(ThreadingHTTPServer):
    """Serves one page and answers its drawings. Port 0 takes any free one. Raises UsageError."""

    daemon_threads = True
    timeout = 0.2
    """Seconds to wait for a request before checking whether to end."""

    def __init__(self, page: str, answer: Answer, port: int = 0):
        self.page, self.answer, self.token = page.encode(), answer, secrets.token_urlsafe(16)
        self._places = BoundedSemaphore(_MOST_CONNECTIONS)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as fault:
            raise UsageError(f"--port {port}: cannot listen there: {fault.strerror}; choose another port") from None

    def serve_until(self, is_ended: Callable[[], bool]) -> None:
        """Answer requests, each in its own thread, until `is_ended`."""
        while not is_ended():
            self.handle_request()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a separate thread, unless there are too many; in that case close the connection."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer in that thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that went away, and report a fault of the program in one line."""
        fault = sys.exc_info()[1]
        if not isinstance(fault, OSError):
            print(f"digits: a request failed: {type(fault).__name__}: {fault}", file=sys.stderr)

    @property
    def names(self) -> set[str]:
        """The allowed values of the header Host."""
        return {f"{host}:{self.server_port}" for host in (HOST, "localhost")}

    @property
    def address(self) -> str:
        """The address of the page, with its token."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    """GET /TOKEN/ is the page; POST /TOKEN/classify takes a drawing and returns a reply."""

    server: DigitServer
    protocol_version = "HTTP/1.0"  # a connection for each request, which ends with it
    server_version = "gemmbench"
    sys_version = ""
    timeout = _SECONDS
    disable_nagle_algorithm = True  # it would hold back the end of each reply by 40 ms
    headers_of_all: ClassVar[dict[str, str]] = {
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Resource-Policy": "same-origin",
    }

    def setup(self) -> None:
        """Close the connection in the end, no matter how slowly its bytes arrive."""
        super().setup()
        self._end = Timer(_SECONDS, self._hang_up)
        self._end.daemon = True
        self._end.start()

    def finish(self) -> None:
        """Leave no timer behind."""
        self._end.cancel()
        super().finish()

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RD)

    def do_GET(self) -> None:
        """Send the page."""
        if self._read_path() == "":
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page)

    def do_POST(self) -> None:
        """Answer a drawing."""
        if self._read_path() != "classify" or (body := self._read_body()) is None:
            return
        try:
            reply = self.server.answer(msgspec.json.decode(body, type=Drawing))
        except (msgspec.DecodeError, ValueError) as fault:
            self._refuse(HTTPStatus.BAD_REQUEST, str(fault))
            return
        self._send(HTTPStatus.OK, "application/json", msgspec.json.encode(reply))

    def _read_path(self) -> str | None:
        """The path after the token; None if the request is refused, in which case it has been answered."""
        _, token, *rest = [*self.path.split("/", 2), ""]
        known = hmac.compare_digest(token.encode(), self.server.token.encode())
        if not known or self.headers.get("Host") not in self.server.names:
            self._refuse(HTTPStatus.FORBIDDEN, "use the address that the program printed")
            return None
        allowed = "" if self.command == "GET" else "classify"
        if rest[0] != allowed:
            self._refuse(HTTPStatus.NOT_FOUND, "there is only the page")
            return None
        return rest[0]

    def _read_body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        # The number of digits is checked first: int() refuses very long numbers.
        if not (length.isascii() and length.isdecimal()) or len(length) > 18 or int(length) > _MOST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"send a drawing of at most {_MOST_BYTES} bytes")
            return None
        body = self.rfile.read(int(length))
        return body if len(body) == int(length) else None  # None: it went away

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # the body of the request may not have been read
        self._send(status, "text/plain; charset=utf-8", f"{why}\n".encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        close = {"Connection": "close"} if self.close_connection else {}
        sized = {"Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in {**self.headers_of_all, **sized, **close}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing, because the terminal belongs to the command."""


@contextmanager
def open_server(
    request: RunRequest, machine: Machine, port: int = 0, batch: int | None = None, weights: str | None = None
) -> Iterator[DigitServer]:
    """The server, with every row that can run here open on its device. Raises GemmbenchError.

    One thread owns the devices: a CUDA context belongs to the thread that created it, and the processes of the CPU
    device end with theirs.
    """
    planned = plan_network_rows(request, machine, batch, weights)
    _require_digits(planned)
    rows = planned.rows if planned.sweep.policy.pdl else [row.without_pdl() for row in planned.rows]
    able = [row for row in rows if not row.reason]
    if not able:
        raise DeviceError(f"no row can run here: {planned.rows[0].reason}")
    with ThreadPoolExecutor(1, "digits") as owner:
        arguments = able, planned.parameters, machine, request.limits, planned.sweep.policy.gate
        classifier = owner.submit(Classifier, *arguments).result()

        drawn = Lock()

        def answer(drawing: Drawing) -> Reply:
            with drawn:  # one at a time: each needs memory
                image = drawing.to_image()
            return make_reply(image, owner.submit(classifier.classify, image).result())

        try:
            with DigitServer(render_page(planned, machine), answer, port) as server:
                yield server
        finally:
            owner.submit(classifier.close).result()


def _require_digits(planned: PlannedNetwork) -> None:
    network = planned.sweep.network
    if planned.parameters.digits is None:
        raise UsageError("these weights come without digits; leave out --weights, or give a file with images")
    if network.activations[-1] != "softmax":
        raise UsageError("the network gives no probabilities; end its `activations` with softmax")
