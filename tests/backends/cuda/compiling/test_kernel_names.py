"""Mangled names, found by the names of the kernels that carry them."""

import pytest

from gemmbench.backends.cuda.nvcc import find_names, list_own

TAGS = (
    "_Z16gemmbench_kernelILi0EXadL_ZN2ns5sgemmILi64ELi32EfEEviiPT1_PKS2_S5_fEEEvv",
    "_Z16gemmbench_kernelILi1EXadL_Z5plainPfS0_EEEvv",
)
KERNELS = (
    *TAGS,
    "_ZN2ns5sgemmILi1ELi2EfEEviiPT1_PKS1_S4_f",
    "_ZN2ns5sgemmILi64ELi32EfEEviiPT1_PKS1_S4_f",
    "_Z5plainPfS_",
    "_Z5plainPfS_i",
    "gemm",
)


def test_each_symbol_has_the_name_that_its_tag_carries():
    symbols = ("ns::sgemm<64, 32, float>", "plain")
    assert find_names(symbols, KERNELS) == (KERNELS[3], "_Z5plainPfS_")


def test_a_name_that_is_not_mangled_is_its_own():
    assert find_names(("gemm",), KERNELS) == ("gemm",)


@pytest.mark.parametrize("symbol", ["other", "ns::sgemm<8, 8, float>"])
def test_a_kernel_that_is_missing_has_no_name(symbol):
    assert find_names((symbol,), KERNELS[2:]) is None


def test_kernels_that_carry_names_are_not_listed():
    assert list_own(KERNELS) == list(KERNELS[2:])
