import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)[:, None]
    n = tl.program_id(1) * B + tl.arange(0, B)[None, :]
    total = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, K, B):
        k = start + tl.arange(0, B)
        a = tl.load(a_ptr + m * K + k[None, :], mask=(m < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + m * N + n, total.to(c_ptr.dtype.element_ty), mask=(m < M) & (n < N))


def matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    matmul_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, B=32)
    return c
