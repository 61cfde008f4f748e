/*---
summary: writes before and behind its operands, then crashes
order: 6
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// Its crash hides that it has spoilt the operands of the kernels that follow.

#include <cstddef>
#include <cstdlib>

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const_cast<TA*>(A)[0] = 77;
    const_cast<TB*>(B)[-1] = 77;
    C[-1] = 77;
    abort();
}
