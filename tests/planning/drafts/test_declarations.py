"""Functions, parameters and launches with <<< >>>, as they are written in CUDA files."""

import pytest

from gemmbench.planning.drafts.declarations import Parameter, TemplateParameter, find_launch, read_functions
from gemmbench.planning.drafts.scanning import evaluate, read_constants, translate


def read_one(text):
    (function,) = read_functions(text)
    return function


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void gemm(int M) {}",
        'extern "C" __global__ void gemm(int M) {}',
        'extern "C" { __global__ void gemm(int M) {} }',
        "namespace a { namespace b { __global__ void gemm(int M) {} } }",
        "static __global__ void __launch_bounds__(256, 2) gemm(int M) {}",
        "__global__ __launch_bounds__(BM * (BN / 2))\nvoid gemm(int M) {}",
        "template <int X = (1 > 0)> __global__ void gemm(int M) {}",
        "// __global__ void no(int N) {}\n__global__ void gemm(int M) {}",
        "/* __global__ void no(int N) {} */ __global__ void gemm(int M) {}",
        '#define TEXT "__global__ void no(int N) {"\n__global__ void gemm(int M) {}',
        "#define KERNEL \\\n  __global__ void no(int N) {}\n__global__ void gemm(int M) {}",
        "__global__ void gemm(int M);\n__global__ void gemm(int M) { if (M) { M = '}'; } }",
        "struct S { void method(int N) {} };\nint values[] = {1, 2};\n__global__ void gemm(int M) {}",
    ],
)
def test_a_kernel_is_found(text):
    function = read_one(text)
    assert (function.name, function.is_kernel) == ("gemm", True)
    assert function.parameters == (Parameter("M", "int"),)


@pytest.mark.parametrize(
    ("written", "parameter"),
    [
        ("const float *__restrict__ A", Parameter("A", "float", pointer=True, const=True)),
        ("float const* A", Parameter("A", "float", pointer=True, const=True)),
        ("float A[]", Parameter("A", "float", pointer=True)),
        ("unsigned int m", Parameter("m", "unsigned int")),
        ("const int N", Parameter("N", "int", const=True)),
        ("std::size_t k = 0", Parameter("k", "std::size_t")),
        ("const __grid_constant__ CUtensorMap map", Parameter("map", "CUtensorMap", const=True)),
        ("cutlass::half_t* A", Parameter("A", "cutlass::half_t", pointer=True)),
        ("pair<int, int> tile", Parameter("tile", "pair<int, int>")),
        ("int", Parameter("", "int")),
        ("FLOAT *A", Parameter("A", "float", pointer=True)),
        ("real *A", Parameter("A", "double", pointer=True)),
        ("elem *A", Parameter("A", "half", pointer=True)),
    ],
)
def test_a_parameter_has_a_type_and_a_name(written, parameter):
    aliases = "#define FLOAT float\ntypedef double real;\nusing elem = half;\n"
    assert read_one(f"{aliases}__global__ void gemm({written}, int last) {{}}").parameters[0] == parameter


def test_a_template_has_types_and_integers():
    function = read_one("template <typename T, const int BM, size_t BN = 128U> __global__ void gemm(T* A) {}")
    assert function.template == (
        TemplateParameter("T", "", is_type=True),
        TemplateParameter("BM", "", is_type=False),
        TemplateParameter("BN", "128U", is_type=False),
    )


def test_functions_have_the_line_of_their_name_and_those_of_device_and_host_are_told_apart():
    text = "#include <cstdio>\n\n/* two\nlines */\ntemplate <int X>\n__global__ void\ngemm(int M) {\n}\n"
    assert read_one(text).line == 7
    text = "__device__ float add(float a) { return a; }\nvoid run(cudaStream_t stream) { add(1); }\n"
    add, run = read_functions(text)
    assert (add.is_device_function, run.is_device_function, run.is_kernel) == (True, False, False)


@pytest.mark.parametrize("text", ["", "{", "}", "__global__ void f(", "template <", 'extern "C" {', "f(int) {", "<<<"])
def test_broken_text_is_read_without_an_error(text):
    assert all(function.name for function in read_functions(text))


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
        ("dim3 grid(1); dim3 const grid2{ceil_div(n, BN), m / BM}, block{16, 16};", "<<<grid2, block, 0, s>>>"),
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


@pytest.mark.parametrize("text", ["X", "1 / 0", "f(", "", "A A", "X0"])
def test_what_has_no_value_has_none(text):
    doubling = {f"X{index}": f"X{index + 1} + X{index + 1}" for index in range(60)}
    assert evaluate(text, {"X": "X", "A": "A", **doubling}) is None
