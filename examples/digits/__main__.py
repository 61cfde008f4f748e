"""Draw a digit in a browser and let every kernel classify it: python -m examples.digits [ROWS]."""

from __future__ import annotations

import os
import signal
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import click

from examples.digits.server import open_server
from gemmbench.errors import GemmbenchError
from gemmbench.planning.sweeps.run_request import make_request
from gemmbench.session.machine import find_machine
from gemmbench.session.reporter import SILENT


@click.command(help=__doc__.partition(":")[0] + ".")
@click.argument("rows", nargs=-1)
@click.option("-c", "--config", default="mlp", help="The network and its rows.  [default: mlp]")
@click.option("--device", default="auto", help="auto, cpu, cuda or cuda:N.  [default: auto]")
@click.option("--batch", type=click.IntRange(1), help="Rows in a batch of inputs.")
@click.option("--weights", metavar="FILE", help="A .npz with W1, b1, W2, ... and images of digits.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page.  [default: any]")
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser, if there is one.")
def main(
    rows: tuple[str, ...],
    config: str,
    device: str,
    batch: int | None,
    weights: str | None,
    port: int,
    browser: bool,
) -> None:
    request = make_request(config, variants=rows)
    try:
        with (
            open_server(request, find_machine(device, SILENT), port, batch, weights) as server,
            _note_ctrl_c() as pressed,
        ):
            _announce(server.address, browser)
            server.serve_until(pressed.is_set)
    except GemmbenchError as fault:
        click.echo(f"digits: {fault}", err=True)
        sys.exit(fault.exit_code)


@contextmanager
def _note_ctrl_c() -> Iterator[Event]:
    """An event that Ctrl-C sets: an exception could be lost if it came while an object is being freed."""
    pressed = Event()
    previous = signal.signal(signal.SIGINT, lambda number, frame: pressed.set())
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, previous)


def _announce(address: str, wanted: bool) -> None:
    """Print the address of the page, and open it if someone is there to see it."""
    print(f"Draw a digit at {address}\nCtrl-C ends the server.", flush=True)
    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if wanted and shown and sys.stdout.isatty():
        webbrowser.open(address)


if __name__ == "__main__":
    main()
