"""`gemmbench mlp`: computes a network with every kind of kernel (forward propagation only)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemmbench.backends.devices import Machine
from gemmbench.cli.options import (
    INTEGER,
    LIMITS,
    MEASURE,
    OutputOptions,
    VariantName,
    argument,
    command,
    config_option,
    dry_run_option,
    group,
    option,
)
from gemmbench.cli.output import TERMINAL, print_line
from gemmbench.cli.run_options import FleetOptions, JournalOptions
from gemmbench.cli.run_outputs import complete_options, finish_run, print_plans
from gemmbench.errors import OK
from gemmbench.planning.sweeps.run_request import PROBLEM, RunRequest
from gemmbench.report.comparison import compare_rows
from gemmbench.session.network_runs import DigitReading, plan_network_rows, read_digit, run_network

_INK = " .:-=+*#%@"
_BAR = 40


def _draw_digit(image: np.ndarray) -> list[str]:
    """Draw an image with values from 0 to 16 as lines of text. Every pixel is two characters wide."""
    shades = np.clip(np.rint(image / 16 * (len(_INK) - 1)).astype(int), 0, len(_INK) - 1)
    return ["".join(_INK[shade] * 2 for shade in row).rstrip() for row in shades]


def _describe_guess(probabilities: np.ndarray, label: int, name: str) -> list[str]:
    """Draw a bar for every digit, and then describe what the row `name` guessed."""
    lines = [f"{digit}  {value:7.2%}  {'#' * round(float(value) * _BAR)}" for digit, value in enumerate(probabilities)]
    guess = int(np.argmax(probabilities))
    result = "right" if guess == label else f"wrong, it is {label}"
    return [*(line.rstrip() for line in lines), f"{name} reads {guess}: {result}"]


@dataclass(frozen=True, kw_only=True)
class NetworkOptions:
    """The options of `gemmbench mlp`."""

    variants: tuple[str, ...] = argument(nargs=-1, type=VariantName())
    config: str = config_option("mlp")
    batch: int | None = option("--batch", type=INTEGER, heading=PROBLEM, help="Number of rows in a batch of inputs.")
    weights: str | None = option(
        "--weights", metavar="FILE", heading=PROBLEM, help="A .npz with W1, b1, W2, ...; or random."
    )
    params: None = group("precisions", "params")
    where: FleetOptions
    measure: None = group(*MEASURE)
    limits: None = group(*LIMITS)
    digit: int | None = option(
        "--digit",
        type=INTEGER,
        metavar="D",
        help="Show a test image of the digit D and how the first row classifies it, without timing anything.",
    )
    journal: JournalOptions
    dry_run: bool = dry_run_option(
        "Show what each row launches, which rows are skipped, and an estimate of the time; run nothing."
    )
    output: OutputOptions


@command(
    NetworkOptions,
    complete=complete_options,
    common=("config", "batch", "weights", "params", "device", "rounds", "export_csv", "digit", "resume", "dry_run"),
)
def mlp(request: RunRequest, options: NetworkOptions) -> int:
    """Verify and time a neural network, computed by each of KERNELS.

    \b
    gemmbench mlp                                the network of the config
    gemmbench mlp tiled cublas+graph --batch 64  two rows, one as a CUDA graph
    gemmbench mlp tiled --digit 7                classify an image; times nothing

    The network is a multi-layer perceptron. It is computed layer by layer by a GEMM kernel or
    library, or as a whole by a kernel for it; without KERNELS, the config names them.
    NAME+graph replays the launches of a row as one CUDA graph. Bias and activation are fused where
    the kernel supports it; otherwise they are separate launches, which count.
    """
    if options.digit is not None:
        options.where.refuse_fleet("--digit")
    return max(_compute(request, options, machine) for machine in options.where.list_machines())


def _compute(request: RunRequest, options: NetworkOptions, machine: Machine) -> int:
    changes = options.batch, options.weights
    if options.dry_run:
        planned = plan_network_rows(request, machine, *changes)
        return print_plans(planned, machine, options.output.style, request.destination.resume)
    if options.digit is not None:
        return _print_digit(read_digit(request, options.digit, machine, *changes))
    result = run_network(request, machine, TERMINAL, *changes)
    return finish_run(result, compare_rows(result.run), options.output, sustained=bool(request.measuring.sustained))


def _print_digit(reading: DigitReading) -> int:
    for line in [*_draw_digit(reading.image), "", *_describe_guess(reading.probabilities, reading.label, reading.row)]:
        print_line(line)
    return OK
