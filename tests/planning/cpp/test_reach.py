"""What a kernel needs of a text, by name."""

import pytest

from gemmbench.planning.cpp.items import Source
from gemmbench.planning.cpp.reach import Edit, find_reached, write_reached


def reach(text, *symbols):
    source = Source(text)
    return " ".join(write_reached(source, find_reached(source, symbols or ["mm"])).split())


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("__device__ float f(float x) { return x; } __global__ void mm() { f(1); }", "float f"),
        ("static const float one = 1; __global__ void mm() { use(one); }", "one = 1"),
        ("constexpr int twice(int x) { return 2 * x; } __global__ void mm() { twice(1); }", "int twice"),
        ("enum Mode { plain, scaled = 2 }; __global__ void mm() { int x = scaled; }", "enum Mode"),
        ("typedef struct tag { float by; } Scale, *Pointer; __global__ void mm() { Pointer p; }", "float by"),
        ("typedef float (*fn)(float); __global__ void mm(fn f) {}", "typedef float"),
        ("namespace a { __device__ void f() {} } namespace b = a; __global__ void mm() { b::f(); }", "f()"),
        ("namespace lib { __device__ void f() {} } using lib::f; __global__ void mm() { f(); }", "using lib::f"),
        ("__device__ float4 operator*(float4 v, float s) { return v; } __global__ void mm() { v * s; }", "operator*"),
        ("struct V { int x; }; __device__ V operator+(V a, V b) { return a; } __global__ void mm(V v) {}", "operator+"),
        ("template <int N> struct Of; template <> struct Of<2> { }; __global__ void mm(Of<2> o) {}", "Of<2> {"),
        ("template <int> __device__ int f(); template <> __device__ int f<2>() {} __global__ void mm() { f(); }", "{}"),
        ("struct G { __device__ int f(); }; __device__ int G::f() {} __global__ void mm() { G().f(); }", "G::f()"),
        ("using namespace std; __global__ void mm() {}", "using namespace std"),
        ("struct T { int n; }; T(int) -> T; __global__ void mm() { T t(1); }", "-> T"),
        ("#pragma pack(1)\n__global__ void mm() {}", "#pragma pack(1)"),
    ],
)  # fmt: skip
def test_what_is_named_is_kept(text, kept):
    assert kept in reach(text)


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("int main() { mm<<<1, 1>>>(); }", "main"),
        ("void launch(cudaStream_t s); void launch(cudaStream_t s) try { mm(); } catch (...) { stop(); }", "launch"),
        ("int use(int x) { return x; }", "int use"),
        ("cudaDeviceProp prop; static Handle handle(1);", "prop"),
        ("using namespace nvcuda;", "nvcuda"),
        ("PYBIND11_MODULE(NAME, m) { m.def(); }", "PYBIND"),
        ("const char* text = R\"(__global__ void mm() { }}}})\"; char c = '{';", "text"),
        ("struct G { int n; }; void G::go() { cudaFree(0); }", "go"),
        ("namespace b { __device__ void help() { asm(); } __global__ void mm2() { help(); } }", "asm"),
        ("__global__ void other() { mm(); }", "other"),
        ("} } extern int stray;", "stray"),
    ],
)
def test_what_is_not_named_and_what_is_of_the_host_is_not_kept(text, gone):
    found = reach(f"{text} __global__ void mm() {{ use(1); G(); }}")
    assert "void mm() {" in found and gone not in found


def test_of_two_namespaces_the_one_that_is_meant_is_kept():
    text = (
        "namespace a { __device__ void help() { one(); } __global__ void mm() { help(); } }"
        "namespace b { __device__ void help() { two(); } __global__ void mm() { help(); } }"
    )
    assert "one()" in reach(text, "a::mm") and "two()" not in reach(text, "a::mm")
    assert reach("__global__ void mm(int) { } __global__ void mm(float) { }").count("void mm") == 2


def test_the_functions_of_a_class_that_only_the_host_calls_are_left_out():
    text = """struct Buffer {
        Buffer(int n) : size(n) { cudaMalloc(&p, n); }
        ~Buffer() { cudaFree(p); }
        __device__ float at(int i) const { return p[i]; }
        void upload(torch::Tensor t) { copy(t); }
        float* p; int size;
    };
    __global__ void mm(Buffer b) { b.at(0); }"""
    found = reach(text)
    assert "float at" in found and "float* p" in found
    assert not any(word in found for word in ("cudaMalloc", "cudaFree", "torch"))


def test_places_and_edits():
    text = '# 1 "a.cu"\nint x;\n# 7 "b.cuh"\n\n__device__ int y;\n\n__global__ void mm() {\n y = 1;\n}\n'
    source = Source(text)
    at = text.index("y = 1")
    found = write_reached(source, find_reached(source, ["mm"]), [Edit(at, at + 1, "z")])
    assert '#line 8 "b.cuh"\n__device__ int y;' in found and '#line 10 "b.cuh"\n__global__' in found
    assert "z = 1" in found and "int x" not in found
