"""
summary: sees B as N x K and all with a third dimension
order: 37
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B, C)
views: {A: [M, K, L], B: [N, K, L], C: [M, N, L]}
"""

import torch


def product(a, b, c):
    assert a.shape[1:] == b.shape[1:] == (a.shape[1], 1) and c.shape == (a.shape[0], b.shape[0], 1)
    torch.matmul(a[:, :, 0], b[:, :, 0].T, out=c[:, :, 0])
