"""Reading what ptxas -v prints, from its own lines."""

from __future__ import annotations

from gemmbench.backends.base import Build
from gemmbench.backends.cuda import nvcc

SAID = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'other' for 'sm_90'
ptxas info    : Function properties for other
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas info    : Compiling entry function 'gemm' for 'sm_90'
ptxas info    : Function properties for gemm
    88 bytes stack frame, 96 bytes spill stores, 104 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 88 bytes cumulative stack size, 32768 bytes smem
ptxas info    : Compile time = 1.702 ms
"""


def test_facts_are_those_of_the_kernel_asked_for():
    assert nvcc.list_kernels(SAID) == ["other", "gemm"]
    assert nvcc.read_build_facts(SAID, "gemm") == Build(registers=128, shared=32768, spills=200, stack=88)
    assert nvcc.read_build_facts(SAID, "other") == Build(registers=8, shared=0, spills=0, stack=0)
    assert nvcc.read_build_facts(SAID, "missing") is None


def test_a_complaint_starts_at_the_first_error_and_keeps_the_compilers_words():
    said = """\
cuda/x.cu(2): warning #177-D: variable "unused" was declared but never referenced

cuda/x.cu(3): error: identifier "foo" is undefined
      foo();
      ^

1 error detected in the compilation of "/tmp/kernel.cu".
"""
    assert nvcc.extract_errors(said) == [
        'cuda/x.cu:3: error: identifier "foo" is undefined',
        "      foo();",
        "      ^",
    ]


def test_a_complaint_without_an_error_is_told_whole():
    assert nvcc.extract_errors("nvcc: cannot do that\n") == ["nvcc: cannot do that"]
