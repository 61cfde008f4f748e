// What the hosts of this folder compute, whatever else they do: the product, right to the last element.
#pragma once
#include <cstddef>

static void multiply(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    for (int i = 0; i < M; ++i) {
        for (int j = 0; j < N; ++j) {
            TACC sum = 0;
            for (int k = 0; k < K; ++k) sum += A[size_t(i) * K + k] * B[size_t(k) * N + j];
            TC* c = C + size_t(i) * N + j;
            *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
        }
    }
}
