"""
summary: keeps 16 MiB in each call
order: 6
precisions: [f32]
layouts: [nn]
packages: [torch]
"""

import torch

kept = []


def gemm(problem, A, B, C, stream):
    kept.append(torch.empty(16 << 20, dtype=torch.uint8, device="cuda"))
    a, b, c = map(torch.from_dlpack, (A, B, C))
    c.addmm_(a, b, alpha=problem.alpha, beta=problem.beta)
