"""Launches with <<< >>>, and their expressions in a manifest."""

import pytest

from gemmbench.planning.drafts.declarations import find_launch
from gemmbench.planning.drafts.scanning import evaluate, read_constants, translate

LAUNCH = """
void run(int m, int n, int k, float* a) {{
    constexpr unsigned BM{{64U}};
    const int BN = BM * 2;
    {setup}
    gemm<BM, BN>{launch}(m, n, k, a);
}}
"""


@pytest.mark.parametrize(
    ("setup", "launch"),
    [
        ("dim3 grid(ceil_div(n, BN), m / BM), block(16, 16);", "<<<grid, block>>>"),
        (
            "dim3 grid(1); dim3 const grid2{ceil_div(n, BN), m / BM}, block{16, 16};",
            "<<<grid2, block, 0, s>>>",
        ),
        ("", "<<<dim3(ceil_div(n, BN), m / BM), dim3(16, 16), 0>>>"),
    ],
)
def test_the_extents_of_a_launch_are_found(setup, launch):
    site = find_launch(LAUNCH.format(setup=setup, launch=launch), "gemm")
    assert (site.grid, site.block, site.shared) == (("ceil_div(n, BN)", "m / BM"), ("16", "16"), "0")
    assert site.template == ("BM", "BN") and site.arguments == ("m", "n", "k", "a")
    assert site.constants["BM"] == "64U"


def test_only_the_launch_of_the_kernel_counts():
    text = "void run() { other<<<1, 2>>>(); /* gemm<<<3, 4>>>(); */ gemm<<<5, 6>>>(); }"
    assert find_launch(text, "gemm").grid == ("5",)
    assert find_launch(text, "third") is None


@pytest.mark.parametrize(
    ("written", "expression"),
    [
        ("CEIL_DIV(m, 32)", "cdiv(M, 32)"),
        ("(m + BM - 1) / BM", "cdiv(M, 64)"),
        ("(static_cast<unsigned int>(m) + BM - 1U) / BM", "cdiv(M, 64)"),
        ("(m + block.x - 1) / block.x", "cdiv(M, 16)"),
        ("m / 32u", "M // 32"),
        ("THREADS", "64 * 4"),
        ("unknown(m)", None),
        ("m + missing", None),
        ("m->n", None),
    ],
)
def test_an_expression_is_translated(written, expression):
    constants = {"BM": "64U", "THREADS": "(BM * 4)", "block.x": "16"}
    assert translate(written, {"m": "M"}, ("M",), constants) == expression


def test_constants_are_macros_and_constants():
    text = "#define A 8\n#define B (A * 2)\nconst int C = B;\nconstexpr size_t D{C / 4U};\n"
    text += "static const uint E=3;\nint F = 1;\n"
    constants = read_constants(text)
    assert {name: evaluate(name, constants) for name in constants} == {"A": 8, "B": 16, "C": 16, "D": 4, "E": 3}


def test_macros_that_double_each_other_end():
    constants = {f"X{index}": f"X{index + 1} + X{index + 1}" for index in range(60)}
    assert evaluate("X0", constants) is None


@pytest.mark.parametrize("text", ["X", "1 / 0", "f(", "", "A A"])
def test_what_has_no_value_has_none(text):
    assert evaluate(text, {"X": "X", "A": "A"}) is None
