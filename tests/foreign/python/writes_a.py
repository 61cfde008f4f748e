"""
summary: overwrites A
order: 12
precisions: [f32]
layouts: [nn]
packages: [torch]
"""

import torch


def gemm(problem, A, B, C, stream):
    a, b, c = map(torch.from_dlpack, (A, B, C))
    c.addmm_(a, b, alpha=problem.alpha, beta=problem.beta)
    a.zero_()
