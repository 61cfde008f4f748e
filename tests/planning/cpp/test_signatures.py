"""Kernels of preprocessed text, with the types of their parameters."""

import pytest

from gemmbench.planning.cpp.items import Source
from gemmbench.planning.cpp.signatures import Kernel, Parameter, Signatures, TemplateParameter


def read(text):
    return Signatures(Source(text))


def test_a_kernel_has_a_symbol_a_place_a_template_and_parameters():
    text = """# 7 "folder/file.cu"
namespace a { namespace b {
template <typename T, int BM = 16, class U = pair<int, 2>>
__global__ void __launch_bounds__(256, 2) mm(const T* __restrict__ A, float *B, int, U u = {}) { if (A) { } }
} }"""
    (kernel,) = read(text).kernels
    assert isinstance(kernel, Kernel)
    assert (kernel.name, kernel.symbol, kernel.place) == ("mm", "a::b::mm", ("folder/file.cu", 8))
    assert kernel.template == (
        TemplateParameter("T", is_type=True),
        TemplateParameter("BM", "16"),
        TemplateParameter("U", "pair < int , 2 >", is_type=True),
    )
    assert kernel.parameters == (
        Parameter("A", "T", 1, const=True),
        Parameter("B", "float", 1),
        Parameter("", "int"),
        Parameter("u", "U"),
    )


@pytest.mark.parametrize(
    ("before", "declared", "kind", "stars"),
    [
        ("using index_t = std::int64_t;", "index_t n", "long", 0),
        ("typedef unsigned long long big; using other = big;", "const other n", "size_t", 0),
        ("using pointer = const float*;", "pointer p", "float", 1),
        ("", "float** A", "float", 2),
        ("", "float A[][16]", "float", 1),
        ("", "__half alpha", "half", 0),
        ("", "unsigned short int n", "ushort", 0),
        ("struct Matrix { int w; };", "struct Matrix A", "Matrix", 0),
        ("", "std::array<float, 4> a", "array<float,4>", 0),
        ("", "unsigned int", "unsigned", 0),
    ],
)
def test_types_have_one_name(before, declared, kind, stars):
    (kernel,) = read(f"{before} __global__ void mm({declared}) {{ }}").kernels
    assert (kernel.parameters[0].type, kernel.parameters[0].stars) == (kind, stars)


def test_declarations_without_a_body_and_without_parameters_are_no_surprise():
    assert read("__global__ void mm(int);").kernels == []
    assert read("__global__ void mm(void) {}").kernels[0].parameters == ()
    assert read('extern "C" { __global__ void mm() {} } } __global__ void more() {}').kernels[1].name == "more"


def test_the_fields_of_a_class():
    text = "typedef struct tag { int width, height; private: float *a, b; static int n; int at() { return n; } } M;"
    fields = [
        Parameter("width", "int"),
        Parameter("height", "int"),
        Parameter("a", "float", 1),
        Parameter("b", "float"),
    ]
    assert read(text).list_fields("M") == read(text).list_fields("tag") == fields
    assert read(text).list_fields("Other") is None


@pytest.mark.parametrize(
    "text",
    [
        "struct M { typedef float T; T *a; };",
        "struct M { using T = float; T *a; };",
        "typedef float T; struct M { T *a; };",
        "using T = float; typedef struct { T *a; } M;",
        "struct M { typedef float T, *P; P a; };",
        "struct S { using T = float; }; struct M { S::T *a; };",
        "namespace n { typedef float real; } struct M { typedef n::real T; T *a; };",
    ],
)
def test_types_of_fields_are_found_behind_aliases_in_and_around_their_class(text):
    assert read(text).list_fields("M") == [Parameter("a", "float", 1)]


@pytest.mark.parametrize(
    ("text", "kind", "types"),
    [
        ("template <typename T> struct M { int w; T *a; };", "M<float>", [("int", 0), ("float", 1)]),
        ("template <class T, int N> struct M { T *a; T b; };", "n::M<unsigned, 4>", [("unsigned", 1), ("unsigned", 0)]),
        ("using real = double; template <typename T = real> struct M { T *a; };", "M<>", [("double", 1)]),
        ("template <typename U> struct M { const U *a; };", "M<T>", [("T", 1)]),
        ("template <typename T> struct M { using V = T; V *a; };", "M<__half>", [("half", 1)]),
    ],
)
def test_fields_of_a_class_template_have_the_types_of_its_arguments(text, kind, types):
    assert [(each.type, each.stars) for each in read(text).list_fields(kind)] == types
