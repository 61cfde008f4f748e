"""The text handed to a compiler: includes first, then the macros, then the file with its own line numbers."""

import pytest

from gemmbench.backends.sources import compiler_text
from gemmbench.planning.problems import Problem

TEXT = """/*---
summary: x
---*/
#include <cuda_runtime.h>
  #  include "mine.h"
#define HERE 1
__global__ void gemm() {}  // #include in a comment stays
"""


@pytest.fixture
def text(make_plan):
    plan = make_plan("mine", Problem(8, 8, 8, "nt"), {"BM": 64, "BK": 8}, text=TEXT)
    return compiler_text(plan)


def test_includes_come_before_the_macros_and_the_macros_before_the_code(text):
    lines = text.split("\n")
    line = next(number for number, line in enumerate(lines) if line.startswith("#line"))
    assert lines[:2] == ["#include <cuda_runtime.h>", '  #  include "mine.h"']
    assert lines[2:line] == [
        "#define BM 64",
        "#define BK 8",
        "#define TA float",
        "#define TB float",
        "#define TC float",
        "#define TACC float",
        "#define TRANS_A 0",
        "#define TRANS_B 1",
    ]
    assert lines[line] == '#line 1 "cuda/mine.cu"'


def test_after_the_line_mark_every_line_has_its_number_in_the_file(text):
    rest = text.split('#line 1 "cuda/mine.cu"\n')[1].split("\n")
    assert rest == ["" if line.lstrip().startswith("#") and "include" in line else line for line in TEXT.split("\n")]


def test_an_include_stands_once(text):
    assert text.count("cuda_runtime.h") == 1


def test_the_text_changes_with_the_values_and_the_layout_and_not_with_the_size(make_plan):
    def made(layout="nn", size=8, **config):
        return compiler_text(make_plan("mine", Problem(size, size, size, layout), config, text=TEXT))

    assert made(T=8) == made(size=9, T=8)
    assert len({made(T=8), made(T=16), made("tn", T=8)}) == 3
