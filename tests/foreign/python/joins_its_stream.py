"""
summary: computes on a stream of its own, which waits and is waited for
order: 35
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import torch

side = torch.cuda.Stream()


def product(a, b):
    current = torch.cuda.current_stream()
    c = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
    side.wait_stream(current)
    with torch.cuda.stream(side):
        torch.matmul(a, b, out=c)
    current.wait_stream(side)
    return c
