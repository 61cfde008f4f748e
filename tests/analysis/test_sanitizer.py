"""What compute-sanitizer says, in one line; and how it is called."""

from pathlib import Path

import pytest

from gemmbench.analysis import sanitizer
from gemmbench.analysis.sanitizer import ToolVerdict, read_log, run_sanitizer
from gemmbench.analysis.toolkit import ToolRun
from gemmbench.errors import DeviceError

OK = ToolRun(0, "", "")
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
RACES = "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: {}\n"
READ = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at gemm+0x1b0 in cuda/mine.cu:25
=========     by thread (1,0,0) in block (2,0,0)
=========     Address 0x7f5c0a000400 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f5c0a000000 of size 1,024 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cuLaunchKernel [0x33a8e6] in libcuda.so.1
=========
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure" on CUDA API call to cuStreamSynchronize.
=========     Saved host backtrace up to driver entry point at error
=========
========= ERROR SUMMARY: 1,769 errors
========= ERROR SUMMARY: 1,669 errors were not printed. Use --print-limit option to adjust the number of printed errors
"""  # noqa: E501
RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at gemm+0x550 in cuda/mine.cu:30
=========     and Read access at gemm+0x580 in cuda/mine.cu:37 [65536 hazards]
=========
========= RACECHECK SUMMARY: 5 hazards displayed (4 errors, 1 warning)
"""
UNINITIALIZED = """========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at gemm+0x20 in cuda/mine.cu:12
=========     by thread (0,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 1 error
"""
BARRIER = """========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in block
=========     at gemm+0x58 in cuda/mine.cu:18
=========     by thread (1,0,0) in block (0,0,0)
=========     Device Frame:gemm+0x58 in cuda/mine.cu:18
=========
========= ERROR SUMMARY: 2 errors
"""


@pytest.mark.parametrize("said", [CLEAN, RACES.format("0 hazards displayed (0 errors, 0 warnings)")])
def test_no_error_and_no_fault_of_the_program_is_clean(said):
    assert read_log(said, OK) == ToolVerdict("clean")


@pytest.mark.parametrize(
    ("said", "errors", "message"),
    [
        (
            READ,
            1769,
            "Invalid __global__ read of size 4 bytes at gemm+0x1b0 in cuda/mine.cu:25 by thread (1,0,0) in block "
            "(2,0,0) Address 0x7f5c0a000400 is out of bounds and is 1 bytes after the nearest allocation at "
            "0x7f5c0a000000 of size 1,024 bytes",
        ),
        (
            RACE,
            5,
            "Error: Race reported between Write access at gemm+0x550 in cuda/mine.cu:30 and Read access at gemm+0x580 "
            "in cuda/mine.cu:37 [65536 hazards]",
        ),
        (
            UNINITIALIZED,
            1,
            "Uninitialized __global__ memory read of size 4 bytes at gemm+0x20 in cuda/mine.cu:12 by thread (0,0,0) "
            "in block (0,0,0)",
        ),
        (
            BARRIER,
            2,
            "Barrier error detected. Divergent thread(s) in block at gemm+0x58 in cuda/mine.cu:18 by thread (1,0,0) "
            "in block (0,0,0)",
        ),
    ],
    ids=["memcheck", "racecheck", "initcheck", "synccheck"],
)
def test_errors_are_counted_and_the_first_is_a_sentence_with_its_line(said, errors, message):
    assert read_log(said, ToolRun(1, "", "")) == ToolVerdict("errors", errors, message)


def test_a_warning_of_racecheck_is_a_hazard_too():
    assert read_log(RACES.format("1 hazard displayed (0 errors, 1 warning)"), OK).status == "errors"


NO_PROCESS = "Error: No attachable process found. compute-sanitizer timed-out."
WRONG = "mine T=8: wrong at 33x65x17 nn f32: exact check: 1 of 2 elements wrong"


@pytest.mark.parametrize(
    ("said", "ran", "message"),
    [
        (CLEAN, ToolRun(1, f"kernel  configurations\n---\n{WRONG}\n", ""), WRONG),
        (f"========= {NO_PROCESS}\n", ToolRun(255, "", "x\n"), NO_PROCESS),
        ("", ToolRun(2, "", "gemmbench: unknown variant\n"), "gemmbench: unknown variant"),
        ("", OK, "it printed nothing"),
    ],
    ids=["a wrong result", "no process", "a fault of the program", "no log"],
)
def test_a_run_that_ends_without_errors_and_not_well_has_failed_with_the_last_words(said, ran, message):
    assert read_log(said, ran) == ToolVerdict("failed", 0, message)


@pytest.mark.parametrize(
    "words",
    [
        'Device not supported. Please refer to the "Supported Devices" section of the sanitizer documentation',
        "Error: Failed to initialize the tool",
        "Internal Sanitizer Error: The Sanitizer encountered an error",
    ],
)
def test_a_tool_that_may_not_watch_is_no_row_but_an_error_of_the_machine(words):
    with pytest.raises(DeviceError, match="compute-sanitizer cannot watch this GPU: "):
        read_log(f"========= COMPUTE-SANITIZER\n========= {words}\n{CLEAN}", OK)


def test_a_call_that_the_program_may_not_make_is_an_error_of_the_program():
    hit = 'Program hit CUDA_ERROR_NOT_PERMITTED (error 800) due to "operation not permitted" on CUDA API call to cuX.'
    found = read_log(f"========= {hit}\n=========\n========= ERROR SUMMARY: 1 error\n", OK)
    assert found == ToolVerdict("errors", 1, hit)


def test_the_program_runs_under_the_tool_without_guards_and_gate_and_leaves_no_log(fake_tool):
    calls = fake_tool(
        sanitizer.PROGRAM,
        "calls.write(' '.join(arguments) + '\\n' + os.environ['GEMMBENCH_GUARDS'] + os.environ['GEMMBENCH_GATE'])\n"
        f"open(after('--log-file'), 'w').write({CLEAN!r})",
    )
    assert run_sanitizer("memcheck", ["verify", "mine"], 60.0).status == "clean"
    line, variables = calls.read_text().split("\n")
    own = "--padding 65536 --report-api-errors no"
    assert line.startswith(f"--tool memcheck {own} --target-processes application-only --log-file ")
    assert line.endswith(" -m gemmbench verify mine") and variables == "00"
    assert not Path(line.partition("--log-file ")[2].split()[0]).parent.exists()
    run_sanitizer("racecheck", ["verify", "mine"], 60.0)
    assert "--padding" not in calls.read_text().split("\n")[-2]


def test_a_run_without_end_is_told_with_its_limit(fake_tool):
    fake_tool(sanitizer.PROGRAM, "time.sleep(60)")
    assert run_sanitizer("racecheck", [], 0.1) == ToolVerdict("timeout", 0, "did not finish within 0.1 s")
