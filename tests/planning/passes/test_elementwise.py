"""The pass that applies steps of an epilogue to a finished C."""

import pytest

import gemmbench

PLAIN = """/*---
summary: an element per thread, without an epilogue
symbol: gemm
precisions: [f32]
layouts: [nn]
kinds: [one, many, groups]
args: [M, N, K, alpha, A, B, beta, C, offsets, groups]
grid:
  - cdiv(N, 32)
  - M
  - count
block: [32]
---*/
extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                const int* offsets, int groups) {
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (column >= N) return;
    int product = blockIdx.z;
    for (int group = 1; group < groups; ++group)
        if (offsets[group] <= row) product = group;
    const size_t at = (groups ? 0 : size_t(product) * M) + row;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += TACC(A[at * K + k]) * TACC(B[(size_t(product) * K + k) * N + column]);
    TC* const c = C + at * N + column;
    *c = TC(alpha * sum + (beta == 0 ? 0 : beta * *c));
}
"""


@pytest.mark.parametrize("sizes", ["5+0+33x40x24", "0+5+0+7x20x30", "3*33x40x24", "33x40x24"])
def test_each_group_and_product_gets_its_own_bias(tmp_path, sizes):
    (tmp_path / "plain.cu").write_text(PLAIN)
    done = gemmbench.verify(
        "plain", device="cpu", kernels=str(tmp_path), sizes=sizes, layout="nn", epilogue="bias,relu", progress=False
    )
    assert done.ok, done.failures[:1]
    assert {tuple(record.passed) for record in done.records} == {("bias", "relu")}
