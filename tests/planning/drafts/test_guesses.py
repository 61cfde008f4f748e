"""What an argument is, by its name and type."""

import pytest

from gemmbench.planning.drafts.declarations import read_functions
from gemmbench.planning.drafts.guesses import guess_arguments


def guess(parameters, **types):
    (function,) = read_functions(f"__global__ void gemm({parameters}) {{}}")
    return guess_arguments(function, types)


def texts(parameters, **types):
    return " ".join(each.text for each in guess(parameters, **types))


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        ("int M, int N, int K, float alpha, float* A, float* B, float beta, float* C", "M N K alpha A B beta C"),
        ("const float* d_A, const float* d_B, float* d_C, int m, int n, int k", "A B C M N K"),
        ("float* dA, float* matB, float* C_ptr, int dim_m, int size_n, int K_", "A B C M N K"),
        ("float* A, int lda, float* B, int strideB, float* C, int c_stride", "A lda B ldb C ldc"),
        ("size_t m, long long n, unsigned k, float* A, float* B, float* C", "size_t(M) long(N) unsigned(K) A B C"),
        ("const float* alpha, const T* A, const T* B, T beta, T* C", "&alpha A B beta C"),
        ("double alpha, double* A, double* B, double* C, double beta", "double(alpha) A B C double(beta)"),
        ("float* A, float* B, float* C, float* bias, void* workspace, cudaStream_t s", "A B C bias workspace stream"),
        (
            "const __nv_fp8_e4m3* A, const __nv_fp8_e4m3* B, T* C, const float* scale_a, const float* d_b_scale",
            "A B C scale_a scale_b",
        ),
        ("T* A, T* B, T* C, const int* offsets, int G, long M", "A B C offsets groups long(M)"),
    ],
)
def test_usual_names_are_known(parameters, arguments):
    assert texts(parameters, T="half") == arguments
    assert all(not each.doubt for each in guess(parameters, T="half"))


@pytest.mark.parametrize(
    ("parameters", "arguments", "doubts"),
    [
        ("const float* x, const float* w, float* out, int rows, int cols, int inner", "A B C M N K", 6),
        ("const float* p1, const float* p2, float* p3", "A B C", 3),
        ("float* p1, const float* p2, const float* p3", "C A B", 3),
        ("const float* x, const float* w, float* y, const int* offsets", "A B C offsets", 3),
        ("const float* A, const float* x, float* y, int M, int K", "A B C M K", 2),
        (
            "const E* x, const E* w, half* y, const float* x_scale, const float* scales_w, int l",
            "A B C scale_a scale_b 0",
            4,
        ),
        ("float* A, float* B, float* C, int n", "A B C N", 1),
        ("float* A, float* B, float* C, float* other, int flag, float factor", "A B C null 0 0.0", 3),
        ("float* A, float* B, float* C, const CUtensorMap map", "A B C 0", 1),
        ("float* A, float* B, float* C, const float* scale_a, int G", "A B C null 0", 2),
        ("float* A, float* B, float* C, const long* offsets, int N, int K", "A B C null N K", 1),
    ],
)
def test_a_guess_has_a_doubt(parameters, arguments, doubts):
    assert texts(parameters, E="__nv_fp8_e4m3") == arguments
    assert sum(bool(each.doubt) for each in guess(parameters, E="__nv_fp8_e4m3")) == doubts
