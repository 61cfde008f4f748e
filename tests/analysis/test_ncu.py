"""Nsight Compute's CSV, and what it says where it may not count."""

import csv
import io

import pytest

from gemmbench.analysis.ncu import QUANTITIES, STALLS, choose_metrics, count_launches, number, read_counters
from gemmbench.errors import DeviceError, LaunchError

HEAD = "ID,Process ID,Process Name,Host Name,Kernel Name,Context,Stream,Block Size,Grid Size,Device,CC".split(",")
CELLS = {"gpu__time_duration.sum": ("us", "2,684.51"), "sm__cycles_elapsed.avg.per_second": ("cycle/nsecond", "1.98")}


def raw(cells, kernels=("gemm",)):
    """What `--csv --page raw` prints: tool's lines, names, units, a line a kernel; every cell quoted."""
    out = io.StringIO()
    write = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow
    write([*HEAD, *cells])
    write([""] * len(HEAD) + [unit for unit, _ in cells.values()])
    for index, kernel in enumerate(kernels):
        fixed = [index, 4711, "python3.12", "127.0.0.1", kernel, 1, 7, "(256, 1, 1)", "(32, 32, 1)", 0, "9.0"]
        write([*fixed, *(value for _, value in cells.values())])
    return (
        "==PROF== Connected to process 4711 (/usr/bin/python3.12)\n"
        '==PROF== Profiling "gemm": 0%....50%....100% - 39 passes\n'
        "==PROF== Disconnected from process 4711\n" + out.getvalue()
    )


def test_each_kernel_is_read_with_its_launch_in_units_of_seconds_and_hertz():
    first, second = read_counters(raw(CELLS, ["gemm", "void cutlass::Kernel<a, b>(Params)"]), choose_metrics())
    assert (first.kernel, first.grid, first.block) == ("gemm", "(32, 32, 1)", "(256, 1, 1)")
    assert first.values == pytest.approx({"duration": 2684.51e-6, "clock": 1.98e9})
    assert second.kernel == "void cutlass::Kernel<a, b>(Params)"


def test_what_is_not_counted_is_not_there_and_a_stall_has_its_own_place():
    stall = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
    cells = {
        "dram__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "n/a"),
        "launch__registers_per_thread": ("register/thread", "128"),
        stall.format("long_scoreboard"): ("inst", "3.25"),
        stall.format("gmma"): ("", "(!) n/a"),
    }
    (found,) = read_counters(raw(cells), choose_metrics())
    assert found.values == {"registers": 128.0}
    assert found.stalls == {"long_scoreboard": 3.25}


@pytest.mark.parametrize(
    "said", ["", "==PROF== Connected\n==WARNING== No kernels were profiled.\n", '"a","b"\n"1","2"\n']
)
def test_without_a_table_there_is_no_kernel(said):
    assert read_counters(said, choose_metrics()) == []


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("1,234,567.5", 1234567.5),
        ("0", 0.0),
        ("98.7", 98.7),
        (".5", 0.5),
        ("1.5e+09", 1.5e9),
        ("12 (4; 8)", 12.0),
        ("-3", -3.0),
        ("n/a", None),
        ("nan", None),
        ("", None),
        ("(!) n/a", None),
    ],
)
def test_cells(cell, value):
    assert number(cell) == value


def test_a_metric_that_is_missing_gives_way_to_the_next_and_then_to_none():
    first, second = QUANTITIES["fma"]
    assert choose_metrics()["fma"] == first
    assert choose_metrics({first.partition(".")[0]})["fma"] == second
    assert "fma" not in choose_metrics({each.partition(".")[0] for each in QUANTITIES["fma"]})
    assert "stall gmma" not in choose_metrics({"smsp__average_warps_issue_stalled_gmma_per_issue_active"})


COUNTING = """
names = after('--metrics').split(',')
calls.write(' '.join(arguments) + '\\n')
missing = {missing!r}
for name in names:
    if name.partition('.')[0] in missing:
        open(after('--log-file'), 'w').write(
            '==PROF== Connected to process 1\\n==ERROR== Failed to find metric regex:^' + name.partition('.')[0]
            + r'(\\.(sum|min|max|avg|pct|ratio))?$' + '\\n')
        sys.exit(1)
open(after('--log-file'), 'w').write({text!r})
"""


def test_the_program_is_counted_in_its_marked_range_with_the_clock_left_alone(fake_tool):
    calls = fake_tool("ncu", COUNTING.format(missing=[], text=raw(CELLS)))
    assert [found.kernel for found in count_launches(["one-launch", "mine"])] == ["gemm"]
    (line,) = calls.read_text().splitlines()
    for words in ("--clock-control none", "--profile-from-start off", "--page raw", "--csv", "--print-units base"):
        assert words in line
    assert line.endswith(" -m gemmbench one-launch mine")


def test_metrics_that_this_gpu_has_not_are_asked_for_no_more(fake_tool):
    missing = ["sm__inst_executed_pipe_fma", "smsp__average_warps_issue_stalled_gmma_per_issue_active"]
    calls = fake_tool("ncu", COUNTING.format(missing=missing, text=raw(CELLS)))
    assert [found.kernel for found in count_launches([])] == ["gemm"]
    *_, last = calls.read_text().splitlines()
    assert len(calls.read_text().splitlines()) == 3
    assert "sm__pipe_fma_cycles_active." in last and not any(f"{name}." in last for name in missing)


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters "
            "on the target device 0.",
            r"ncu: this user may not read the GPU's counters \(ERR_NVGPUCTRPERM\): run as root",
        ),
        (
            "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool (like "
            "DCGM) is concurrently collecting profiling data.",
            "another tool holds the GPU's counters;",
        ),
        ("==ERROR== Failed to initialize the profiler: LibraryNotLoaded", "refuses profilers"),
        ("==ERROR== Profiling is not supported on device 0.", "does not support this GPU"),
    ],
)
def test_a_machine_that_does_not_let_ncu_count_is_named_with_the_next_step(fake_tool, words, meaning):
    fake_tool("ncu", f"open(after('--log-file'), 'w').write({words!r}); sys.exit(1)")
    with pytest.raises(DeviceError, match=meaning):
        count_launches([])


@pytest.mark.parametrize(
    ("body", "limit", "message"),
    [
        ("print('gemmbench: 10 bytes do not fit', file=sys.stderr); sys.exit(1)", 60, r"^10 bytes do not fit$"),
        ("print('==WARNING== No kernels were profiled.')", 60, r"ncu counted nothing: ==WARNING== No kernels were pr"),
        ("time.sleep(60)", 0.1, "ncu did not finish within 0.1 s; choose a smaller size"),
    ],
)
def test_a_program_without_counters_is_an_error_in_its_words_or_ncu_s(fake_tool, body, limit, message):
    fake_tool("ncu", body)
    with pytest.raises(LaunchError, match=message):
        count_launches([], limit=limit)


def test_every_quantity_has_metrics_with_a_suffix_or_of_the_launch():
    for names in QUANTITIES.values():
        assert names and all("." in name or name.startswith("launch__") for name in names)
    assert len(set(STALLS)) == len(STALLS)
