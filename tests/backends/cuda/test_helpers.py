"""The array kernels of helpers.cu, compiled for the host: the answers are those of the host's memory.

Each block has one thread, so that shuffles within a warp are not needed."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import gemmbench
from gemmbench.backends.base import Range, ScaledArray
from gemmbench.backends.fake.backend import FakeMemory
from gemmbench.planning.precisions import BFLOAT16, E4M3, E5M2, FLOAT16, FLOAT32, FLOAT64, INT8, INT32

BACKENDS = Path(gemmbench.__file__).parent / "backends"
TYPES = [FLOAT32, FLOAT64, FLOAT16, BFLOAT16, E4M3, E5M2, INT8, INT32]
KINDS = pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
COUNT, STEP = 1001, 1 << 14
BLOCKS = 33
PRELUDE = """
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <algorithm>
#include "words.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_fp8.h"
using std::min;
using std::max;
struct Index { unsigned x, y; };
static Index blockIdx, threadIdx{0, 0}, gridDim, blockDim{1, 1};
template <class T> T __shfl_down_sync(unsigned, T, int) { return 0; }
"""
CALL = """
extern "C" void call_{name}(unsigned blocks, unsigned rows, {parameters}) {{
    gridDim = {{blocks, rows}};
    for (blockIdx.y = 0; blockIdx.y < rows; ++blockIdx.y)
        for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {name}({arguments});
}}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """helpers.cu from the array kernels on, as a shared library."""
    compiler = next(filter(None, map(shutil.which, ("g++", "clang++"))), None)
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    text = (BACKENDS / "cuda" / "helpers.cu").read_text()
    text = PRELUDE + text[text.index("/* Add up `value`") :]
    table, counters = "const void* table", "unsigned long long* sums"
    for kind in TYPES:
        scaled = f"{table}, unsigned long long count"
        text += CALL.format(name=f"scale_{kind.name}", parameters=scaled, arguments="(const ScaledArray*)table, count")
        text += CALL.format(
            name=f"negate_{kind.name}",
            parameters=scaled,
            arguments="(const unsigned long long*)table, count",
        )
        text += CALL.format(
            name=f"count_unlike_{kind.name}",
            parameters=f"{scaled}, double normal, double step, {counters}",
            arguments="(const ScaledArray*)table, count, normal, step, sums",
        )
    text += CALL.format(name="checksum", parameters=f"{table}, {counters}", arguments="(const Range*)table, sums")
    folder = tmp_path_factory.mktemp("helpers")
    (folder / "helpers.cpp").write_text(re.sub(r"__(global|device)__", "", text))
    prelude = BACKENDS / "cpu" / "prelude"
    command = [compiler, "-std=c++17", "-O1", "-w", "-fno-strict-aliasing", "-shared", "-fPIC", f"-I{prelude}"]
    subprocess.run([*command, "-o", folder / "helpers.so", folder / "helpers.cpp"], check=True)
    return ctypes.CDLL(str(folder / "helpers.so"))


@pytest.fixture
def memories():
    """Two memories of three arrays, with the same bytes: one for the kernels, one for NumPy."""
    return FakeMemory(3 * STEP), FakeMemory(3 * STEP)


def table_of(memory, pairs):
    base, fields = memory.bytes.ctypes.data, [("source", "u8"), ("target", "u8"), ("factor", "f8")]
    return np.array([(base + pair.source, base + pair.target, pair.factor) for pair in pairs], fields)


def scale(library, memory, pairs, kind):
    table, function = table_of(memory, pairs), getattr(library, f"call_scale_{kind.name}")
    function(BLOCKS, len(table), table.ctypes, ctypes.c_ulonglong(COUNT))


def count_unlike(library, memory, pairs, kind):
    table, function = table_of(memory, pairs), getattr(library, f"call_count_unlike_{kind.name}")
    limits, sums = map(ctypes.c_double, (kind.smallest_normal, kind.subnormal_step)), np.zeros(len(pairs), np.uint64)
    function(BLOCKS, len(table), table.ctypes, ctypes.c_ulonglong(COUNT), *limits, sums.ctypes)
    return sums.tolist()


def checksums(library, memory, ranges):
    table = np.array([(each.start, each.end) for each in ranges], np.uint64) + np.uint64(memory.bytes.ctypes.data)
    sums = np.zeros(len(ranges), np.uint64)
    library.call_checksum(BLOCKS, len(ranges), table.ctypes, sums.ctypes)
    return sums.tolist()


def fill(memories, kind):
    """Values of all sizes, subnormal ones, zeros and NaN among them."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal(COUNT) * kind.smallest_normal ** rng.random(COUNT)
    values[::50], values[1::50], values[2::300] = 0, 3 * kind.subnormal_step, np.nan
    if kind.is_integer:  # as they are timed, times 4 at most
        values = rng.integers(-(2 ** (kind.significand - 2)) + 1, 2 ** (kind.significand - 2), COUNT)
    for memory in memories:
        memory.write(0, values.astype(kind.numpy_type()))


PAIRS = [ScaledArray(0, STEP, -2), ScaledArray(0, 2 * STEP, 4)]


@KINDS
def test_arrays_are_scaled_as_on_the_host(library, memories, kind):
    fill(memories, kind)
    scale(library, memories[0], PAIRS, kind)
    memories[1].scale(PAIRS, kind, COUNT)
    for pair in PAIRS:
        one, other = (memory.array(pair.target, (COUNT,), kind.numpy_type()) for memory in memories)
        np.testing.assert_array_equal(one.astype(np.float64), other.astype(np.float64))


@KINDS
def test_the_sign_of_single_elements_changes_as_on_the_host(library, memories, kind):
    fill(memories, kind)
    offsets = np.arange(1, COUNT, 7) * kind.nbytes(1)
    table = offsets.astype(np.uint64) + np.uint64(memories[0].bytes.ctypes.data)
    getattr(library, f"call_negate_{kind.name}")(BLOCKS, 1, table.ctypes, ctypes.c_ulonglong(len(table)))
    memories[1].negate(offsets, kind)
    one, other = (memory.array(0, (COUNT,), kind.numpy_type()).astype(np.float64) for memory in memories)
    np.testing.assert_array_equal(one, other)


@KINDS
def test_unlike_elements_are_counted_as_on_the_host(library, memories, kind):
    fill(memories, kind)
    for memory in memories:
        memory.scale(PAIRS, kind, COUNT)
        changed = memory.array(STEP, (COUNT,), kind.numpy_type())
        changed[::10] = np.nextafter(changed[::10].astype(np.float64), 1).astype(kind.numpy_type())
        changed[7::99] = 1
        changed[::7] += changed.dtype.type(kind.subnormal_step)
    counts = memories[1].count_unlike(PAIRS, kind, COUNT)
    assert count_unlike(library, memories[0], PAIRS, kind) == counts
    assert counts[0] > counts[1] == (0 if kind.is_integer else 4)  # the second pair differs in nothing but NaN


@pytest.mark.parametrize(("start", "end"), [(0, 1), (3, 5), (5, 8), (1, 17), (8, 64), (13, 4099), (1024, STEP)])
def test_a_checksum_covers_its_range_and_no_byte_more(library, memories, start, end):
    memory, _ = memories
    ranges = [Range(start, end), Range(2 * STEP, 2 * STEP + 9)]
    before = checksums(library, memory, ranges)
    for at in {start, min(start + 1, end - 1), (start + end) // 2, end - 1}:
        memory.fill(at, 1, 1)
        changed = checksums(library, memory, ranges)
        assert changed[0] != before[0] and changed[1] == before[1], at
        memory.fill(at, 1, 0)
    for at in {max(start - 1, 0), end} - {start}:
        memory.fill(at, 1, 1)
    assert checksums(library, memory, ranges) == before


def test_a_checksum_changes_with_the_order(library, memories):
    memory, _ = memories
    sums = []
    for values in ([1, 2], [2, 1]):
        memory.write(0, np.array(values, np.float64))
        sums += checksums(library, memory, [Range(0, 16)])
    assert sums[0] != sums[1]
