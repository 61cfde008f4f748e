"""
summary: PyTorch's addmm, in the library that it chooses
order: 980
precisions: [f32, tf32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
packages: [torch]
source: https://docs.pytorch.org/docs/stable/generated/torch.addmm.html
"""

from functools import lru_cache

import torch

matmul = torch.backends.cuda.matmul
# Parts of a sum over K are added in f32, as the other variants do it.
matmul.allow_fp16_reduced_precision_reduction = False
matmul.allow_bf16_reduced_precision_reduction = False

view = lru_cache(maxsize=256)(torch.from_dlpack)
"""The tensor of an array; equal arrays share it."""


def allow_tf32(allowed):
    """Let PyTorch round the factors of f32 products to TF32, or not."""
    if hasattr(matmul, "fp32_precision"):
        matmul.fp32_precision = "tf32" if allowed else "ieee"
    else:
        matmul.allow_tf32 = allowed


def gemm(problem, A, B, C, stream):
    """C = alpha op(A) op(B) + beta C, on the current stream, which is `stream`."""
    allow_tf32(problem.precision == "tf32")
    a, b, c = view(A), view(B), view(C)
    a, b = a.T if problem.trans_a else a, b.T if problem.trans_b else b
    # Where beta == 0, addmm does not read C.
    c.addmm_(a, b, alpha=problem.alpha, beta=problem.beta)
