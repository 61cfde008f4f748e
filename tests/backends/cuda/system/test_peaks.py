"""The kernel that finds the arithmetic peak: what ptxas must have made of it, looked at without a GPU."""

import re
import subprocess
from pathlib import Path

import pytest

from gemmbench.analysis import toolkit
from gemmbench.backends.code_cache import read_intact
from gemmbench.backends.cuda.system import peaks
from gemmbench.errors import DeviceError

FMAS = peaks._ROWS * peaks._COLUMNS * peaks._UNROLL


@pytest.fixture
def path(warm_compiler):
    """The kernels for Hopper."""
    return peaks.compile_peaks("90")


def test_it_keeps_its_sums_in_registers_and_fits_a_block(path):
    build = read_intact(Path(path))
    assert build.spills == 0
    assert peaks._ROWS * peaks._COLUMNS < build.registers <= 65536 // peaks._THREADS


def test_its_loop_is_fused_multiply_add_in_snake_order(path):
    try:
        command = [toolkit.find_cuobjdump(), "--dump-sass", path]
    except DeviceError as why:
        pytest.skip(str(why))
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    code = said.stdout[said.stdout.index("Function : outer_products") :]
    lines = re.findall(r"/\*([0-9a-f]{4,})\*/ +(.*?) *;", code)
    jumps = [(int(at, 16), re.search(r"BRA.* 0x([0-9a-f]+)", text)) for at, text in lines]
    end, begin = next((at, int(to[1], 16)) for at, to in jumps if to and int(to[1], 16) < at)
    loop = [text for at, text in lines if begin <= int(at, 16) <= end]
    fused = [text for text in loop if text.startswith("FFMA")]
    assert len(fused) == FMAS and len(fused) / len(loop) > 0.97
    # a row of 16 keeps a[i], so only its last may go without
    assert sum(".reuse" in text for text in fused) / len(fused) > 1 - 1 / peaks._COLUMNS


def test_operations_are_counted_twice_an_fma():
    assert peaks._flops_per_launch(10) == 2 * FMAS * peaks._ROUNDS * peaks._THREADS * 10
