"""The server of the digit page: what it answers, to whom, and that its answers are the rows' own."""

import http.client
import json
import socket
import threading
import time
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from examples.digits import drawing
from examples.digits import server as server_module
from examples.digits.server import open_server
from gemmbench.errors import DeviceError, UsageError
from gemmbench.planning.sweeps.run_request import make_request
from gemmbench.session.machine import find_machine
from gemmbench.session.network_runs import plan_network_rows, read_digit
from gemmbench.session.reporter import SILENT


@contextmanager
def serve(request, device, **changes):
    machine = find_machine(device, SILENT)
    with open_server(request, machine, **changes) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def name_rows(*rows):
    return make_request("mlp", variants=rows)


@pytest.fixture(scope="module")
def server():
    with serve(name_rows("tiled", "mlp_fused"), "fake", batch=4) as opened:
        yield opened


@pytest.fixture
def ask(server):
    def send(method="GET", path=None, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        try:
            text = json.dumps(body) if isinstance(body, dict) else body
            connection.request(method, f"/{server.token}/" if path is None else path, text, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()
        finally:
            connection.close()

    return send


def classify(ask, server, body):
    status, _, text = ask("POST", f"/{server.token}/classify", body)
    return status, json.loads(text) if status == 200 else text


def test_the_address_shows_the_page(ask, server):
    status, headers, text = ask()
    assert status == 200 and server.address == f"http://127.0.0.1:{server.server_port}/{server.token}/"
    assert text.startswith("<!doctype html>") and 'data-row="mlp_fused"' in text
    assert headers["Cache-Control"] == "no-store" and headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["/", "", "//", "/wrong/", "/wrong/classify", "/%s", "/classify"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_the_token_nothing_is_served(ask, path, method):
    status, _, text = ask(method, path or "/", "{}" if method == "POST" else None)
    assert (status, text) == (403, "use the address that the program printed\n")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_host_name_is_refused(ask, host):
    """A name that an attacker made to point to 127.0.0.1 (DNS rebinding)."""
    assert ask(Host=host)[0] == 403


def test_localhost_is_a_name_of_this_server(ask, server):
    assert ask(Host=f"localhost:{server.server_port}")[0] == 200


def test_there_is_only_the_page(ask, server):
    assert ask(path=f"/{server.token}/secrets")[0] == 404
    assert ask("POST", f"/{server.token}/", "{}")[0] == 404
    assert ask("PUT", f"/{server.token}/")[0] == 501


def test_only_this_machine_reaches_the_server(server):
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("not json", "JSON is malformed"),
        ({"stroke": []}, "unknown field `stroke`"),
        ({}, "strokes: nothing is drawn"),
        ({"strokes": [[]]}, "strokes: nothing is drawn"),
        ({"strokes": [[[1, 2, 3]]]}, "Expected `array` of length 2"),
        ({"strokes": [[[1e300, 0]]]}, "strokes: a point is beyond 1e+06"),
        ({"strokes": [[[0, 0]] * 20_001]}, "strokes: more than 20000 points"),
        ({"image": [[0] * 8] * 7}, "image: not 8 rows of 8 numbers"),
        ({"image": [[17] * 8] * 8}, "image: its numbers must be 0 to 16"),
    ],
)
def test_a_bad_drawing_is_refused_with_its_fault(ask, server, body, why):
    status, text = classify(ask, server, body)
    assert status == 400 and why in text


def test_a_huge_body_is_not_read(ask, server):
    assert ask("POST", f"/{server.token}/classify", None, **{"Content-Length": str(1 << 40)})[0] == 413


@pytest.mark.parametrize("digit", range(10))
def test_a_stored_image_is_classified_as_mlp_digit_does(ask, server, digit):
    request = name_rows("tiled", "mlp_fused")
    reading = read_digit(request, digit, find_machine("fake", SILENT), batch=4)
    status, reply = classify(ask, server, {"image": reading.image.tolist()})
    assert status == 200 and reply["digit"] == int(reading.probabilities.argmax()) == digit
    assert reply["image"] == reading.image.tolist()
    assert np.allclose(reply["probabilities"], reading.probabilities, atol=1e-6)


def test_each_row_answers_with_its_time(ask, server):
    status, reply = classify(ask, server, {"strokes": [[[0, 0], [0, 100]]]})
    assert status == 200
    assert [row["name"] for row in reply["rows"]] == ["tiled", "mlp_fused", "cublas+graph"]
    assert all(row["seconds"] > 0 and row["fault"] == "" for row in reply["rows"])
    assert {row["digit"] for row in reply["rows"]} == {reply["digit"]}


def test_the_rows_run_on_the_cpu(ask):
    with serve(name_rows("cpu_naive", "tiled"), "cpu", batch=2) as server:
        image = plan_network_rows(name_rows(), find_machine("cpu", SILENT)).parameters.digits.images[0]
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
        connection.request("POST", f"/{server.token}/classify", json.dumps({"image": image.tolist()}))
        reply = json.loads(connection.getresponse().read())
        connection.close()
    assert reply["digit"] == 2
    assert [row["name"] for row in reply["rows"]] == ["cpu_naive", "tiled", "openblas"]
    assert all(row["seconds"] > 0 and not row["fault"] for row in reply["rows"])


def test_a_row_that_is_wrong_or_fails_costs_the_others_nothing(tmp_path):
    (tmp_path / "script.yaml").write_text("faults: {tiled: zero, wpt: crash}\n")
    with serve(name_rows("tiled", "wpt", "mlp_fused"), f"fake:{tmp_path / 'script.yaml'}", batch=4) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        connection.request("POST", f"/{server.token}/classify", json.dumps({"strokes": [[[0, 0], [0, 100]]]}))
        reply = json.loads(connection.getresponse().read())
        connection.close()
    faults = {row["name"]: row["fault"] for row in reply["rows"]}
    assert faults["tiled"].startswith("wrong: ") and faults["wpt"] and faults["mlp_fused"] == ""
    assert reply["digit"] == next(row["digit"] for row in reply["rows"] if row["name"] == "mlp_fused")


def test_weights_without_digits_are_refused():
    request = name_rows("tiled")
    with pytest.raises(UsageError, match="these weights come without digits"), serve(request, "fake", weights="random"):
        pass


def test_a_taken_port_is_a_usage_error(server):
    machine = find_machine("fake", SILENT)
    with (
        pytest.raises(UsageError, match=f"--port {server.server_port}: cannot listen there"),
        open_server(name_rows("tiled"), machine, server.server_port),
    ):
        pass


def test_rows_that_cannot_run_here_are_no_server():
    request = make_request("mlp", variants=("tiled+graph",), baseline="tiled+graph")
    with pytest.raises(DeviceError, match="no row can run here: a graph needs"), serve(request, "cpu"):
        pass


def send_raw(server, text, wait=True):
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        connection.sendall(text.encode())
        return connection.recv(4096).decode() if wait else ""


@pytest.mark.parametrize("length", ["9" * 5001, "-1", "1" * 30, "\u00b2", "x", ""])
def test_an_odd_length_is_refused_without_a_traceback(server, capfd, length):
    head = f"POST /{server.token}/classify HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
    assert " 413 " in send_raw(server, f"{head}Content-Length: {length}\r\n\r\n")
    assert capfd.readouterr().err == ""


def test_a_browser_that_cancels_costs_no_traceback(server, ask, capfd):
    head = f"POST /{server.token}/classify HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
    send_raw(server, f"{head}Content-Length: 5000\r\n\r\n", wait=False)
    for _ in range(20):
        send_raw(server, f"GET /{server.token}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n", wait=False)
    assert ask()[0] == 200 and capfd.readouterr().err == ""


def test_silent_connections_hold_few_threads_and_not_for_long(server, ask, monkeypatch):
    monkeypatch.setattr(server_module, "_SECONDS", 0.5)
    before = threading.active_count()
    silent = [socket.create_connection(("127.0.0.1", server.server_port)) for _ in range(100)]
    try:
        assert threading.active_count() - before <= 2 * server_module._MOST_CONNECTIONS + 1
        for _ in range(100):
            with suppress(OSError, http.client.HTTPException):
                if ask()[0] == 200:
                    return
            time.sleep(0.1)
        pytest.fail("the silent connections are still open")
    finally:
        for connection in silent:
            connection.close()


def test_a_drawing_of_many_dots_has_few_segments():
    dots = [np.array([[x, y]], np.float64) for x in range(100) for y in range(200)]
    assert len(drawing._fit(dots)) <= 2 * drawing._MOST_SEGMENTS
    one = [np.stack([np.arange(20_000.0), np.arange(20_000.0)], axis=1)]
    assert len(drawing._fit(one)) <= 2 * drawing._MOST_SEGMENTS
