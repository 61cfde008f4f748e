"""
summary: computes alpha A B whatever beta is
order: 13
precisions: [f32]
layouts: [nn]
packages: [torch]
"""

import torch


def gemm(problem, A, B, C, stream):
    a, b, c = map(torch.from_dlpack, (A, B, C))
    torch.matmul(problem.alpha * a, b, out=c)
