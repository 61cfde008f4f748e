"""
summary: computes its result on a stream that nobody waits for
order: 53
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import torch

side = torch.cuda.Stream()


def product(a, b):
    with torch.cuda.stream(side):
        return torch.matmul(a, b)
