"""
summary: launches on the default stream
order: 4
precisions: [f32]
layouts: [nn]
packages: [torch]
"""

import torch


def gemm(problem, A, B, C, stream):
    with torch.cuda.stream(torch.cuda.default_stream()):
        a, b, c = map(torch.from_dlpack, (A, B, C))
        c.addmm_(a, b, alpha=problem.alpha, beta=problem.beta)
