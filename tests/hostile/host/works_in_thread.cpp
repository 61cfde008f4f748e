/*---
summary: leaves its work to a thread and returns
order: 16
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// Most results come after the reply.

#include <thread>
#include <unistd.h>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    std::thread([=] {
        usleep(20000);
        multiply(M, N, K, alpha, A, B, beta, C);
    }).detach();
}
