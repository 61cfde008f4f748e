"""Odd drawings sent to the digit page: each is an image, or is refused as a ValueError."""

import json
import socket
import sys
import threading

import msgspec
import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from examples.digits.messages import Drawing, make_reply
from examples.digits.server import DigitServer

odd = st.sampled_from([0, -1, 16, 17, 1e-320, 1e6, 1e7, 1e308, -0.0, "x", None, [], {}, True, 2**63, 2**80])
numbers = st.integers(0, 600) | st.floats(0, 600) | odd
points = st.lists(numbers, min_size=2, max_size=2) | st.lists(numbers, max_size=3) | odd
strokes = st.lists(st.lists(points, max_size=12) | odd, max_size=6)
images = st.lists(st.lists(st.integers(-1, 17) | odd, min_size=7, max_size=9), min_size=7, max_size=9)
dots = st.builds(lambda count, x: [[[x, x]]] * count, st.sampled_from([1, 300, 19_999, 20_001]), st.integers(0, 9))
messages = st.fixed_dictionaries({}, optional={"strokes": strokes | dots, "image": images | odd, "x": odd})


@given(message=messages | odd, cut=st.sampled_from([None, None, None, -1]))
def test_an_odd_drawing_is_an_image_or_refused(message, cut):
    try:
        image = msgspec.json.decode(json.dumps(message)[:cut].encode(), type=Drawing).to_image()
    except ValueError as fault:  # that of msgspec is one too
        event(f"refused: {type(fault).__name__}")
        return
    event("image")
    assert image.shape == (8, 8) and image.dtype == np.uint8 and image.max() <= 16


METHODS = ["GET", "POST", "POST", "POST", "HEAD", "PUT", "get", "", "\x00", "X" * 9_000]
PATHS = ["/{token}/classify", "/{token}/classify", "/{token}/", "/", "/{token}", "/é/", "//{token}//", "*", "/" * 9_000]
HEADERS = ["Host: {host}", "Host: evil", "Content-Length: -1", "Content-Length: 1e3", "Content-Length: " + "9" * 5001]
HEADERS += [
    "Transfer-Encoding: chunked",
    "Expect: 100-continue",
    "Host:",
    ": x",
    " folded",
    "\x00: \xff",
    "X: " + "y" * 9_000,
]
VERSIONS = ["HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/9.9", "HTTP/x", "", "HTTP/1.1 x"]
ENDS = ["\r\n"] * 9 + ["\n", " HTTP/1.1\r\n", "\r"]


@st.composite
def requests(draw):
    """The bytes of a request, with places for the token and the host."""
    version = draw(st.sampled_from(VERSIONS))
    body = json.dumps(draw(messages | odd)).encode()
    headers = ["Host: {host}", f"Content-Length: {len(body) + draw(st.sampled_from([0, 0, 0, 0, -1, 1]))}"]
    headers += draw(st.lists(st.sampled_from(HEADERS), max_size=3)) * draw(st.sampled_from([1, 1, 1, 1, 40]))
    first = f"{draw(st.sampled_from(METHODS))} {draw(st.sampled_from(PATHS))} {version}"
    head = draw(st.sampled_from(ENDS)).join([first, *draw(st.permutations(headers)), "", ""])
    content = head.encode(errors="replace") + body
    if draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(content)))
        content = content[:at] + draw(st.binary(max_size=4)) + content[at + draw(st.integers(0, 9)) :]
    return content


@pytest.fixture
def server(monkeypatch):
    """A server that finds a 1 in each drawing, and what went wrong in it."""
    faults = []

    def answer(drawing):
        return make_reply(drawing.to_image(), [])

    with DigitServer("<p>", answer) as opened:
        monkeypatch.setattr(opened, "handle_error", lambda *_: faults.append(sys.exc_info()[1]))
        thread = threading.Thread(target=opened.serve_forever, args=[0.01])
        thread.start()
        yield opened, faults
        opened.shutdown()
        thread.join()


@given(content=requests())
def test_an_odd_request_is_answered_or_its_connection_ends(server, content):
    opened, faults = server
    host = f"127.0.0.1:{opened.server_port}"
    for place, value in (("{token}", opened.token), ("{host}", host)):
        content = content.replace(place.encode(), value.encode())
    with socket.create_connection(("127.0.0.1", opened.server_port), timeout=5) as client:
        try:
            client.sendall(content)
            client.shutdown(socket.SHUT_WR)
            reply = b"".join(iter(lambda: client.recv(1 << 16), b""))
        except TimeoutError:
            raise
        except OSError:  # it ended before it had read everything
            event("ended")
            reply = b""
    event(str(reply[:15]))
    assert not [fault for fault in faults if not isinstance(fault, OSError)]
