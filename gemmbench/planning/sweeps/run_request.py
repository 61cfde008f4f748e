"""The options that change a sweep, each declared once, and how parameters, precisions, layouts and limits are written.

The command line, the Python interface, the key `measure` of a config and recorded commands are made from them.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, get_args

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.epilogues import EPILOGUE_STEPS, SOFTMAX
from gemmbench.planning.manifests.variant import ALL, Params
from gemmbench.planning.precisions import PRECISIONS, find_precision
from gemmbench.planning.problems import LAYOUTS, PanelCut, parse_padding, read_form
from gemmbench.planning.sizes import Sizes, check_digits, read_sizes

# The headings of options in --help, in this order.
PROBLEM, DEVICE, MEASURING, STOPPING = "Problem", "Device", "Measuring", "Stopping and time limits"
TRANSFERS, REFERENCE, RESULTS, OUTPUT, OTHER = "Transfers", "Reference run", "Results", "Output", "Options"
HEADINGS = (PROBLEM, DEVICE, MEASURING, STOPPING, TRANSFERS, REFERENCE, RESULTS, OUTPUT, OTHER)

SHARE, NAME_OF_VARIANT, FOLDER = "share", "variant", "folder"
"""Kinds of values besides types and words to choose from: 3% or 0.03, a variant, and a path."""


@dataclass(frozen=True)
class Option:
    """An option: how to write, check and explain it wherever it can be given.

    `name` is the name of the field that declares it, `flag` is how the command line writes it, and `renamed` is a
    different keyword for Python. `kind` is int, float, str, bool, one of the kinds above, or a tuple of words. `usual`
    is the default (None: decided by what runs), and `bounds` are the bounds of an integer. Without a value, the option
    means `bare`. `check` returns the value in the form that is kept, and raises UsageError. `text` returns the value as
    it is typed. `in_python` replaces `help` in Python if that does not apply there. An option with `in_config` is also
    a key of a config, which this text explains.
    """

    flag: str
    help: str
    heading: str = MEASURING
    kind: Any = str
    name: str = ""
    renamed: str = ""
    metavar: str | None = None
    repeats: bool = False
    usual: Any = None
    bare: str | None = None
    bounds: tuple[int, int] | None = None
    check: Callable[[Any], Any] = lambda value: value
    text: Callable[[Any], Any] = lambda value: value
    in_python: str = ""
    in_config: str = ""

    @property
    def keyword(self) -> str:
        """The keyword in Python: the long form or another word."""
        return self.renamed or self.words[0].removeprefix("--").replace("-", "_")

    @property
    def words(self) -> tuple[str, ...]:
        """The long forms: `--gate` and `--no-gate`."""
        return tuple(self.flag.split("/"))

    def read(self, value: Any) -> Any:
        """Convert what is typed or given in Python to the form that is kept. Raises UsageError."""
        if isinstance(self.kind, tuple) and value not in self.kind:
            raise UsageError(f"{self.keyword}: unknown word '{value}'; choose {', '.join(self.kind)}")
        if self.kind in (int, float) and not isinstance(value, Integral if self.kind is int else Real):
            raise UsageError(f"{self.keyword}: {value!r} is not {'an integer' if self.kind is int else 'a number'}")
        return self.check(value)

    def write(self, value: Any) -> list[str]:
        """Return the words of a command line that set this value; none for None or for a flag's default."""
        is_usual = isinstance(value, bool) and value == self.usual
        return [] if value is None or is_usual else write_option(self.words, self.text(value))


def write_option(flags: Sequence[str], value: Any) -> list[str]:
    """Write an option and its value as words. True and False select one of two flags; several values repeat it."""
    if value is None or isinstance(value, bool):
        return [] if value is None else list(flags[:1] if value else flags[1:])
    values = value if isinstance(value, tuple) else (value,)
    return [word for each in values for word in (flags[0], str(each))]


def to_words(options: Iterable[tuple[str, object]]) -> tuple[str, ...]:
    """Write options with their values as the words of a command line. Options whose value is None are left out."""
    return tuple(word for flag, value in options for word in write_option((flag,), value))


_OPTION = "option"


def option(flag: str, absent: Any = None, **declared: Any) -> Any:
    """Make a field that is an option. `absent` is its value if it is not given, or the type of an empty value."""
    found = {"default_factory": absent} if isinstance(absent, type) else {"default": absent}
    return field(**found, metadata={_OPTION: Option(flag, **declared)})


def list_options(kind: type) -> dict[str, Option]:
    """Return the options that the fields of a dataclass declare, by name."""
    declared = {each.name: each.metadata[_OPTION] for each in fields(kind) if _OPTION in each.metadata}
    return {each.name or name: replace(each, name=each.name or name) for name, each in declared.items()}


def _check_limit(flag: str) -> Callable[[float], float]:
    def check(seconds: float) -> float:
        if not seconds > 0:
            raise UsageError(f"{flag} {seconds:g}: give a positive number of seconds")
        return seconds

    return check


def _limit_option(flag: str, usual: float | None, text: str) -> Any:
    return option(
        flag,
        usual,
        name=flag.removeprefix("--").replace("-", "_"),
        kind=float,
        metavar="SECONDS",
        heading=STOPPING,
        check=_check_limit(flag),
        help=text,
    )


@dataclass(frozen=True)
class TimeLimits:
    """Seconds for compiling one kernel, for one launch (None: by device) and for the whole sweep (inf: no limit).

    The sweep starts when its limits are made, before it is planned, at `started` on the monotonic clock. With `long`, a
    run on the CPU device may take more than an hour.
    """

    compile: float = _limit_option("--compile-limit", 120.0, "Time limit for compiling one kernel.  [default: 120]")
    launch: float | None = _limit_option(
        "--launch-limit", None, "Time limit for one launch.  [default: 60; on the CPU 5, and more for large problems]"
    )
    sweep: float = _limit_option("--sweep-limit", math.inf, "Time limit for the whole run.  [default: none]")
    long: bool = option(
        "--yes",
        False,
        name="yes",
        kind=bool,
        usual=False,
        heading=STOPPING,
        help="Start a run even if it takes more than an hour on the CPU.",
    )
    started: float = field(default_factory=time.monotonic, compare=False)


_PARAM = re.compile(r"\s*\w+\s*=\s*-?[0-9]+\s*(,\s*-?[0-9]+\s*)*")


def _parse_params(written: Sequence[str]) -> Params:
    """Parse parameters written as `BM=64,128` or `all`. Raises UsageError."""
    params: dict[str, tuple[int, ...]] = {}
    for text in written:
        name, _, values = text.partition("=")
        if text == ALL:
            params[ALL] = ()
        elif not _PARAM.fullmatch(text) or name == ALL:
            raise UsageError(f"cannot parse --param '{text[:40]}'; write --param BM=64,128 or --param all")
        else:
            parts = values.split(",")
            for part in parts:
                check_digits(f"--param {name.strip()}", part)
            params[name.strip()] = tuple(dict.fromkeys(map(int, parts)))
    return params


def read_params(written: str | Sequence[str] | Mapping[str, Any]) -> Params:
    """Read parameters in the forms that --param and Python accept. Raises UsageError."""
    if isinstance(written, str):
        if written != ALL:
            raise UsageError(f"params '{written}' is neither a mapping nor 'all'; write {{'BM': [64, 128]}}")
        written = [ALL]
    return _parse_params(write_params(written) if isinstance(written, Mapping) else written)


def write_params(params: str | Mapping[str, Any]) -> tuple[str, ...]:
    """Write parameters in the form that --param accepts."""
    if isinstance(params, str):
        return (params,)
    return tuple(ALL if name == ALL else f"{name}={_join_values(values)}" for name, values in params.items())


def _join_values(values: Any) -> str:
    return str(values) if isinstance(values, str | Integral) else ",".join(map(str, values))


def parse_precisions(names: str | Sequence[str]) -> tuple[str, ...]:
    """Parse precisions from a list or from text with commas. Raises UsageError."""
    return tuple(dict.fromkeys(find_precision(name).name for name in _split_names("precisions", names)))


def parse_layouts(names: str | Sequence[str]) -> tuple[str, ...]:
    """Parse layouts from a list or from text with commas. Raises UsageError."""
    layouts = tuple(dict.fromkeys(name.lower() for name in _split_names("layouts", names)))
    for name in layouts:
        if name not in LAYOUTS:
            raise UsageError(f"unknown layout '{name}'{nearest(name, LAYOUTS)}; known: {', '.join(LAYOUTS)}")
    return layouts


def parse_epilogue(written: str | Sequence[str]) -> tuple[str, ...]:
    """Parse `bias,gelu`, or a list of steps, in the order in which they are applied. Raises UsageError."""
    names = tuple(name.lower() for name in _split_names("epilogue", written, least=0))
    for name in names:
        if not name:
            raise UsageError(f"epilogue: empty step in '{_join_names(written)}'; name steps such as bias,gelu")
        if name == SOFTMAX:
            raise UsageError("epilogue: softmax needs whole rows of C; only the last layer of gemmbench mlp has it")
        if name not in EPILOGUE_STEPS:
            several = f"; separate steps with commas: {','.join(name.split())}" if " " in name else ""
            hint, known = several or nearest(name, EPILOGUE_STEPS), ", ".join(EPILOGUE_STEPS)
            raise UsageError(f"epilogue: unknown step '{name}'{hint}; known: {known}")
        if names.count(name) > 1:
            raise UsageError(f"epilogue: {name} occurs twice; name each step once")
    return names


def parse_share(written: float | str) -> float:
    """Parse a share written as `3%` or `0.03`; NaN if it is not a share from 0 to below 1."""
    text = str(written).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return math.nan
    return share if 0 <= share < 1 else math.nan


def _join_names(names: str | Sequence[str]) -> str:
    """Join names with commas."""
    return names if isinstance(names, str) else ",".join(names)


def _split_names(what: str, names: str | Sequence[str], least: int = 1) -> tuple[str, ...]:
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(isinstance(each, str) for each in listed):
        raise UsageError(f"{what}: {names!r} is not text or a list of names")
    if len(listed) < least:
        raise UsageError(f"{what}: empty; give at least one")
    names = tuple(part.strip() for each in listed for part in each.split(","))
    if least and not all(names):
        raise UsageError(f"{what}: empty name in '{','.join(listed)}'; give at least one")
    return names


Cache = Literal["cold", "hot"]
Fill = Literal["uniform", "normal", "zeros", "ones", "ints"]


def _check_scalar(name: str) -> Callable[[float], float]:
    def check(value: float) -> float:
        if not math.isfinite(value):
            raise UsageError(f"{name}: {value} is not finite; give a number such as 1 or -0.5")
        return float(value)

    return check


def _check_seed(seed: int) -> int:
    """Return a seed. Raises UsageError if it is negative or too long for a results file."""
    check_digits("seed", seed)
    if seed < 0:
        raise UsageError(f"seed: {seed} is negative; give 0 or more")
    return seed


def _check_rounds(rounds: int) -> int:
    check_digits("rounds", rounds)
    if rounds < 1:
        raise UsageError(f"rounds: {rounds} is below 1; give at least 1 (4 for an interval)")
    return rounds


def _check_share(share: float | str) -> float:
    """Return a share written as `0.5%` or `0.005`. Raises UsageError."""
    value = parse_share(share)
    if math.isnan(value):
        raise UsageError(f"until: '{share}' is not a share below 100 %; write 0.5% or 0.005, or 0 for all rounds")
    return value


def _check_time(seconds: float) -> float:
    if not 0 < seconds < math.inf:
        raise UsageError(f"max_time: {seconds} s leaves no time; give a positive number of seconds")
    return float(seconds)


_LEAST_SUSTAINED, _MOST_SUSTAINED = 1, 60


def _check_sustained(seconds: float) -> float:
    if seconds and not _LEAST_SUSTAINED <= seconds <= _MOST_SUSTAINED:
        limits = f"{_LEAST_SUSTAINED} to {_MOST_SUSTAINED}"
        raise UsageError(f"sustained: {seconds:g} s; give seconds of steady load for each row, {limits} (0: none)")
    return float(seconds)


def _list_choices(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}"


@dataclass(frozen=True)
class Selection:
    """Which variants, problems and configurations to measure. Empty values come from the config or the variant.

    `kernels` is a folder with more variants.
    """

    variants: tuple[str, ...] = ()
    sizes: Sizes | None = option(
        "--sizes",
        check=read_sizes,
        text=lambda sizes: read_sizes(sizes).text,
        metavar="SIZES",
        heading=PROBLEM,
        help="1024,4096 are cubes, 1024x768x512 is M x N x K, 512:4096:512 are cubes from 512 to 4096 in steps of "
        "512, 64*512 is a batch of 64, 512+0+33x768x512 groups of 512, 0 and 33 rows.",
        in_python='1024 for a cube, [512, (1024, 768, 512)] with tuples of M, N, K, or text such as "512:4096:512".',
    )
    precisions: tuple[str, ...] = option(
        "--precision",
        (),
        check=parse_precisions,
        text=_join_names,
        metavar="NAMES",
        heading=PROBLEM,
        help=f"{_list_choices(PRECISIONS)}; separate several with commas.  [default: from the config or the kernel]",
        in_python='a name or several, such as "f32" or ["f32", "bf16"].',
    )
    layouts: tuple[str, ...] = option(
        "--layout",
        (),
        check=parse_layouts,
        text=_join_names,
        metavar="NAMES",
        heading=PROBLEM,
        help=f"{_list_choices(LAYOUTS)}; separate several with commas.  [default: from the config or the kernel]",
        in_python='a name or several, such as "nn" or ["nn", "nt"].',
    )
    params: Params = option(
        "--param",
        dict,
        renamed="params",
        check=read_params,
        text=write_params,
        repeats=True,
        metavar="NAME=VALUES",
        heading=PROBLEM,
        help="Values to try, such as BM=64,128 (repeatable), or all.",
        in_python='values to try, such as {"BM": [64, 128], "BK": 8}, or "all".',
    )
    alpha: float | None = option(
        "--alpha",
        kind=float,
        heading=PROBLEM,
        check=_check_scalar("alpha"),
        help="C = alpha A B + beta C.  [default: 1]",
    )
    beta: float | None = option(
        "--beta", kind=float, heading=PROBLEM, check=_check_scalar("beta"), help="If 0, C is not read.  [default: 0]"
    )
    epilogue: tuple[str, ...] = option(
        "--epilogue",
        (),
        check=parse_epilogue,
        text=_join_names,
        metavar="STEPS",
        heading=PROBLEM,
        help=f"What follows the product, in turn: {', '.join(EPILOGUE_STEPS)}; several with commas.",
        in_python='what follows the product, such as "bias,gelu" or ["bias", "gelu"].',
    )
    ld: tuple[str, ...] = option(
        "--ld",
        (),
        check=parse_padding,
        text=_join_names,
        metavar="PADDING",
        heading=PROBLEM,
        help="Elements after each stored row: A+8,B+8; also C and, with --separate-c, D.",
        in_python='elements that follow each stored row, such as "A+8,B+8" or ["A+8", "B+8"].',
    )
    separate_c: bool = option(
        "--separate-c",
        False,
        kind=bool,
        usual=False,
        heading=PROBLEM,
        help="Write the result to D, and only read C.",
    )
    baseline: str | None = option(
        "--baseline",
        kind=NAME_OF_VARIANT,
        help="The kernel or library that counts as 100 %.  [default: from the config, else cublas or openblas]",
    )
    kernels: str | None = option(
        "--kernels",
        kind=FOLDER,
        metavar="FOLDER",
        heading=DEVICE,
        check=os.fspath,
        help="An additional folder with .cu files.",
    )

    @property
    def form(self) -> dict[str, Any]:
        """The fields that are the same in all problems, apart from alpha and beta."""
        return read_form(self)

    def list_words(self, *names: str) -> list[str]:
        """Return the words of a command for those options that are given."""
        return [word for name in names for word in OPTIONS[name].write(getattr(self, name) or None)]


_SEED, _MAX_TIME = "Seed of the data.", "Maximum seconds of timing per kernel and problem."


@dataclass(frozen=True)
class Measuring:
    """How to measure. None means the value in the config."""

    cache: Cache | None = option(
        "--cache",
        kind=get_args(Cache),
        help="cold: rotate operand sets so nothing stays in L2; hot: reuse two sets with one B.  [default: cold; on "
        "the CPU hot]",
        in_config="`cold`: rotate operand sets so that nothing stays in the L2 cache. `hot`: reuse two sets, which "
        "share B. Empty: cold; hot on the CPU device.",
    )
    data: Fill | None = option(
        "--data",
        kind=get_args(Fill),
        metavar="FILL",
        usual="uniform",
        help="Contents of A and B: uniform, normal, zeros, ones or ints.  [default: uniform]",
        in_config="Contents of A and B: `uniform` in [-1, 1], `normal`, `zeros`, `ones` or small `ints`.",
    )
    seed: int | None = option(
        "--seed", kind=int, usual=0, heading=PROBLEM, check=_check_seed, help=f"{_SEED}  [default: 0]", in_config=_SEED
    )
    rounds: int | None = option(
        "--rounds",
        kind=int,
        heading=STOPPING,
        check=_check_rounds,
        help="Number of rounds (with --until: the maximum). Intervals need at least 4.  [default: at most 96; on the "
        "CPU 10]",
        in_config="Number of rounds, over all blocks; with `until`, the maximum. Empty: 96; on the CPU device 10, "
        "unless `until` is given.",
    )
    until: float | str | None = option(
        "--until",
        kind=SHARE,
        metavar="SHARE",
        heading=STOPPING,
        check=_check_share,
        help="Measure until the 95 % interval of the ratio to the baseline is within +- SHARE; 0: all rounds.  "
        "[default: 0.5%; 0 with --rounds and on the CPU]",
        in_python="measure until the 95 % interval of the ratio to the baseline is within this share: 0.005 or "
        '"0.5%"; 0: all rounds.',
        in_config="Measure until the 95 % interval of the ratio to the baseline (without one, of the time) is within "
        "this share, such as `0.5%`; `0`: all rounds. Empty: 0.5%, unless `rounds` is given; on the CPU device all "
        "rounds are measured.",
    )
    max_time: float | None = option(
        "--max-time",
        kind=float,
        metavar="SECONDS",
        usual=5.0,
        heading=STOPPING,
        check=_check_time,
        help=f"{_MAX_TIME}  [default: 5]",
        in_config=_MAX_TIME,
    )
    sustained: float | None = option(
        "--sustained",
        kind=float,
        bare="4",
        metavar="[SECONDS]",
        check=_check_sustained,
        help="Also measure each row alone under a steady load, for 4 s or SECONDS (0: never).  [default: on "
        "tensor cores]",
        in_python="seconds of steady load for each row, to measure its speed, watts and joules on a GPU; 0: none.",
        in_config="Seconds of steady load for each row, to measure its speed, power and energy on a GPU; 0: none. "
        "Empty: 4 where tensor cores compute the products, otherwise 0.",
    )
    peaks: bool | None = option(
        "--peaks",
        kind=bool,
        usual=False,
        help="Also measure the limits of a GPU, for the roofline (2 s).",
        in_config="Whether to measure the limits of a GPU as well: copies in its memory, and multiply-adds in "
        "registers. A roofline then shows measured limits.",
    )
    gate: bool = option(
        "--gate/--no-gate", True, kind=bool, usual=True, help="Queue launches behind a gate (short kernels need this)."
    )
    pdl: bool = option(
        "--pdl",
        False,
        kind=bool,
        usual=False,
        help="Let a product begin before the previous one ends, where a manifest has `pdl`. Such rows are not ranked.",
        in_python="True lets products overlap where a manifest has `pdl`; `verify` does both unless this is False.",
    )


@dataclass(frozen=True)
class TransferOptions:
    """Whether whole jobs are measured with their copies, and how C is cut into panels."""

    with_transfers: bool = option(
        "--with-transfers",
        False,
        kind=bool,
        usual=False,
        heading=TRANSFERS,
        help="Also measure the whole job: copies in, kernel, copy out.",
    )
    panels: int = option(
        "--panels",
        PanelCut.panels,
        kind=int,
        bounds=(1, 64),
        usual=PanelCut.panels,
        metavar="INTEGER",
        heading=TRANSFERS,
        help="Number of panels of C for transfers.",
    )
    streams: int = option(
        "--streams",
        PanelCut.streams,
        kind=int,
        bounds=(1, 16),
        usual=PanelCut.streams,
        metavar="INTEGER",
        heading=TRANSFERS,
        help="Number of streams for transfers.",
    )

    @property
    def cut(self) -> PanelCut | None:
        """How to cut jobs; None if none are measured."""
        return PanelCut(self.panels, self.streams) if self.with_transfers else None


OPTIONS: Mapping[str, Option] = {
    **list_options(Selection),
    **list_options(Measuring),
    **list_options(TimeLimits),
    **list_options(TransferOptions),
}
"""Every option that several interfaces share, by name."""


@dataclass(frozen=True)
class Destination:
    """Where to write rows: a new file in a folder, or the file to `resume`.

    `command` is the command that the file records.
    """

    folder: Path = Path("results")
    resume: Path | None = None
    command: str = ""


@dataclass(frozen=True)
class RunRequest:
    """What to measure and how. `config` is the name or path of a config, which the options change."""

    selection: Selection = field(default_factory=Selection)
    measuring: Measuring = field(default_factory=Measuring)
    config: str = "quick"
    limits: TimeLimits = field(default_factory=TimeLimits)
    destination: Destination = field(default_factory=Destination)

    def list_given(self) -> list[str]:
        """Return the given options that change a config, as they are typed. Variants and --kernels do not count."""
        given = [
            (each, OPTIONS[each.name])
            for chosen in (self.selection, self.measuring)
            for each in fields(chosen)
            if each.name in OPTIONS and getattr(chosen, each.name) != getattr(type(chosen)(), each.name)
        ]
        return [found.words[-1] for _, found in given if found.heading != DEVICE]


def make_request(
    config: str = "quick", destination: Destination | None = None, variants: Iterable[str] = (), **given: Any
) -> RunRequest:
    """Make a request from options as they are typed or passed in Python (None: not given). Raises UsageError."""
    if unknown := given.keys() - OPTIONS.keys():
        raise TypeError(f"no such option: {', '.join(sorted(unknown))}")
    kept = {name: OPTIONS[name].read(value) for name, value in given.items() if value is not None}

    def choose(kind: type) -> dict[str, Any]:
        names = {each.name: each.metadata[_OPTION].name or each.name for each in fields(kind) if each.metadata}
        return {field: kept[name] for field, name in names.items() if name in kept}

    return RunRequest(
        Selection(variants=tuple(variants), **choose(Selection)),
        Measuring(**choose(Measuring)),
        config,
        TimeLimits(**choose(TimeLimits)),
        destination or Destination(),
    )
