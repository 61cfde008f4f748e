"""
summary: launches on the default stream, as it declares
order: 34
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
stream: default
"""

import torch


def product(a, b):
    with torch.cuda.stream(torch.cuda.default_stream()):
        return torch.matmul(a, b)
