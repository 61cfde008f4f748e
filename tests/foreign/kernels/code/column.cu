// Column-major, as BLAS has it: op(A) is m x k, and ld is the distance of two columns. Transposed by macros.
#include "rows.h"

#ifndef TRANSPOSED_A
#error TRANSPOSED_A is 0 or 1
#endif

extern "C" __global__ void column_sgemm(int m, int n, int k, const float* alpha, float* a, int lda, float* b, int ldb,
                                        const float* beta, float* c, int ldc) {
    const int i = blockIdx.x * WIDTH + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int p = 0; p < k; ++p) {
        const float x = TRANSPOSED_A ? a[COLUMN(p, i, lda)] : a[COLUMN(i, p, lda)];
        const float y = TRANSPOSED_B ? b[COLUMN(j, p, ldb)] : b[COLUMN(p, j, ldb)];
        sum += x * y;
    }
    float* out = c + COLUMN(i, j, ldc);
    *out = *beta == 0 ? *alpha * sum : *alpha * sum + *beta * *out;
}
